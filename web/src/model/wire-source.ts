/** A result of a Colonnade server, and which of its rows were asked for. */
export interface QueryRange {
  id: string;
  /** The result was there before and stays when this table is closed. */
  isKept: boolean;
  /** Number in the result of the table's row 0. */
  firstRow: number;
  /** The most rows there may be, where the request says so. */
  limit: number | undefined;
  /** How many there should be: as many as of the same rows in another order. */
  expectedRows?: number | undefined;
  /** What the request itself is for, where these are only some of its rows. */
  whole?: QueryRange;
}

/** A request to make. */
export interface UrlSource {
  kind: "url";
  url: string;
  method: string;
  headers: [string, string][];
  body: ArrayBuffer | null;
  credentials: RequestCredentials;
  /** Where the page's own `fetch` is asked, if it has one (`fetcher.ts`). */
  fetch?: MessagePort;
  /** Set where a Colonnade server can be asked again. */
  query?: QueryRange;
}

/** Where the worker takes its bytes from; see `source.ts` for what a caller may pass. */
export type WireSource =
  | UrlSource
  | { kind: "port"; port: MessagePort; end: EndRule }
  | { kind: "blob"; blob: Blob };

/**
 * What the end of the body means when no end-of-stream marker was seen: a failure (`marker`), or
 * completion with a warning if it falls between two messages (`boundary`).
 */
export type EndRule = "marker" | "boundary";
