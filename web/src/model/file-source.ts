/** A file that the reader reads by ranges of bytes. */
export type FileSource =
  | { kind: "blob"; blob: Blob }
  | {
      kind: "remote";
      url: string;
      headers: [string, string][];
      credentials: RequestCredentials;
      /** The port to the page's own `fetch`, if it has one (`http/fetch-bridge.ts`). */
      fetch?: MessagePort | undefined;
    };

/** Tells the reader to open a file. */
export interface FileOrder {
  file: FileSource;
  /** The memory budget of the table, in bytes. */
  memoryBytes: number;
  /** How much of it columns may take that are computed with, in bytes. */
  computedBytes: number;
}

/** What the reader says of a file. */
export interface FileFacts {
  rows: number;
  bytes: number;
  /** The least memory that all rows take, in bytes. */
  leastMemoryBytes: number;
  /** Whether rows load when they are looked at, and could all be read instead. */
  canLoadAll: boolean;
  warning?: FileWarning | undefined;
  /** The compressed size of each column in the file, in bytes. */
  columnBytes: number[];
}

/**
 * `unidentified_file`: the host sends nothing that tells the states of a file apart. `no_ranges`: it sends no ranges, so
 * the whole file was read.
 */
export type FileWarning = "unidentified_file" | "no_ranges";
