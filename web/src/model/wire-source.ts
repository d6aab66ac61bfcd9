/** A result of a Colonnade server, and the requested range of its rows. */
export interface QueryRange {
  id: string;
  /** The result existed before and stays when this table is closed. */
  isKept: boolean;
  /** Number in the result of the table's row 0. */
  firstRow: number;
  /** The request's limit of rows. */
  limit: number | undefined;
  /** The expected number of rows, known because the server sorts a table of that many rows. */
  expectedRows?: number | undefined;
  /** Set if rows load on demand from the start, to the memory budget of the table in bytes. */
  onDemandBytes?: number | undefined;
  /** The range of the whole table, if this is a part of it. */
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
  /** The port to the page's own `fetch`, if it has one (`http/fetch-bridge.ts`). */
  fetch?: MessagePort;
  /** Set if a Colonnade server answers, so that the request can be resumed. */
  query?: QueryRange;
}

/** The source that the worker reads; see `api/source.ts` for what a caller may pass. */
export type WireSource =
  | UrlSource
  | { kind: "port"; port: MessagePort; end: EndRule }
  | { kind: "blob"; blob: Blob };

/**
 * What the end of the body means when no end-of-stream marker was seen: a failure (`marker`), or
 * completion with a warning if it falls between two messages (`boundary`).
 */
export type EndRule = "marker" | "boundary";
