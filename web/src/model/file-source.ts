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

/** Tells the reader to open a file and to serve its rows through `ports`, as `serveFetch` does. */
export interface FileOrder {
  file: FileSource;
  ports: MessagePort[];
}

/** What the reader says of a file, in the record of its rows. */
export interface FileFacts {
  rows: number;
  bytes: number;
  /** Whether rows load on demand, and could all be read instead. */
  isOnDemand?: boolean;
  warning?: FileWarning | undefined;
}

/**
 * `unidentified_file`: the host sends nothing that tells the states of a file apart. `no_ranges`: it sends no ranges, so
 * the whole file was read.
 */
export type FileWarning = "unidentified_file" | "no_ranges";
