import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A message of the recorded stream. */
interface Piece {
  metadata: Buffer;
  body: Buffer;
  firstRow: number;
  isDictionary: boolean;
}

/** How one response misbehaves; `at` is a byte of its body. */
export type Fault =
  /** The connection ends there: inside a chunk, or before the promised length. */
  | { kind: "fin" | "short" | "reset" | "stall" | "clean end" | "flip" | "garbage"; at: number }
  /** All bytes arrive, but the body does not end. */
  | { kind: "open end" }
  /** Like `stall`, and the server loses its results, as after a restart. */
  | { kind: "restart"; at: number }
  | { kind: "refuse"; status: number; code: string; retryAfterS?: number }
  /** Rows from another row than requested. */
  | { kind: "shift"; rows: number };

/** The answer to `GET /v1/query/{id}`. */
interface RecordOfResult {
  state: string;
  rows?: number | null;
  rows_ready?: number;
  error?: { code: string; message: string };
}

/** A request as the server saw it. */
export interface Seen {
  method: string;
  path: string;
  params: Record<string, string>;
  body: string;
}

/**
 * A server that sends a recorded stream (`fixtures/numbered.arrows`), or the rest of it, like a
 * Colonnade server, with the faults that a test sets. It sends real bytes over real sockets. Its
 * batches have 10 rows, so it can begin at multiples of 10.
 */
export class ReplayServer {
  /** Faults of the next responses with rows, in order; later responses are complete. */
  faults: Fault[] = [];
  /** Requests for rows, and `DELETE` requests. */
  readonly seen: Seen[] = [];
  /** How many results were begun without their rows. */
  numBegun = 0;
  order = "partition";
  /** A file that a browser requests, if there is one. */
  file: (path: string) => { type: string; bytes: Buffer } | undefined = () => undefined;
  /** The record of a result; undefined if the server has lost all results. */
  record: RecordOfResult | undefined = { state: "running" };
  readonly #stalled = new Set<ServerResponse>();
  readonly #pieces = split(
    readFileSync(new URL("../../fixtures/numbered.arrows", import.meta.url)),
  );
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  /** Listens on a free port of loopback, or on `port`. */
  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resets the stalled connections. */
  cut(): void {
    for (const { socket } of this.#stalled) socket?.resetAndDestroy();
    this.#stalled.clear();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The body of a response with rows `[firstRow, endRow)`. */
  body(firstRow: number, endRow = 300): Buffer {
    const [schema, ...pieces] = this.#pieces as [Piece, ...Piece[]];
    const rows = pieces.slice(0, -1).filter((piece) => piece.firstRow < endRow);
    const sent = rows.filter((piece) => piece.firstRow >= firstRow);
    if (sent[0] !== undefined && !sent[0].isDictionary) {
      const live = rows.findLast((piece) => piece.firstRow < firstRow && piece.isDictionary);
      if (live !== undefined) sent.unshift(live);
    }
    const last = pieces.at(-1) as Piece;
    const numbered = [...sent, last].map((piece, seq) => {
      const metadata = Buffer.from(piece.metadata);
      setEntry(metadata, "colonnade.seq", seq);
      if (piece.firstRow < firstRow) setEntry(metadata, "colonnade.first_row", firstRow);
      if (piece === last) {
        const end = Math.max(firstRow, Math.min(endRow, 300));
        setEntry(metadata, "colonnade.first_row", end);
        setEntry(metadata, "colonnade.total_rows", end);
        const numBatches = sent.filter(({ isDictionary }) => !isDictionary).length;
        setEntry(metadata, "colonnade.total_batches", numBatches);
      }
      return { ...piece, metadata };
    });
    const marker = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    return Buffer.concat([...[schema, ...numbered].map(encapsulate), marker]);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.origin);
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "" } = request;
    const file = this.file(url.pathname);
    if (file !== undefined) {
      response.setHeader("content-type", file.type).end(file.bytes);
      return;
    }
    const isById = /\/v1\/query\/[^/]+/.test(url.pathname);
    if (!isById && !/\/(?:rows|query|numbered\.arrows)$/.test(url.pathname)) {
      refuse(response, 404, "not_found");
      return;
    }
    const isRecord = method === "GET" && /\/v1\/query\/[^/]+$/.test(url.pathname);
    if (!isRecord) {
      const params = Object.fromEntries(url.searchParams);
      this.seen.push({ method, path: url.pathname, params, body });
    }
    if (isById && this.record === undefined) return refuse(response, 404, "unknown_query");
    if (isRecord) {
      response.setHeader("content-type", "application/json").end(JSON.stringify(this.record));
    } else if (method === "DELETE") {
      response.writeHead(204).end();
    } else {
      // After a restart, a request makes its result known again.
      this.record ??= { state: "running", rows: 300 };
      const given = method === "POST" ? JSON.parse(body) : Object.fromEntries(url.searchParams);
      const limit = Math.ceil(Number(given.limit ?? 300) / 10) * 10;
      if (request.headers.prefer === "return=minimal") {
        this.numBegun++;
        response.writeHead(204, { "x-result-order": this.order }).end();
      } else {
        this.#sendRows(response, Number(given.offset ?? 0), limit);
      }
    }
  }

  #sendRows(response: ServerResponse, offset: number, limit: number): void {
    const fault = this.faults.shift();
    if (fault?.kind === "refuse") {
      refuse(response, fault.status, fault.code, fault.retryAfterS);
      return;
    }
    const firstRow = fault?.kind === "shift" ? offset + fault.rows : offset;
    const body = this.body(firstRow, offset + limit);
    const headers: Record<string, string | number> = {
      "content-type": "application/vnd.apache.arrow.stream",
      "x-query-id": "whatever",
      "x-result-order": this.order,
    };
    if (fault === undefined || fault.kind === "shift") {
      response.writeHead(200, headers).end(body);
      return;
    }
    if (fault.kind === "open end") {
      response.writeHead(200, headers).write(body);
      this.#stalled.add(response);
      return;
    }
    const at = Math.min(fault.at, body.length - 1);
    const part = body.subarray(0, at);
    const { socket } = response;
    switch (fault.kind) {
      case "short":
        headers["content-length"] = body.length;
        response.writeHead(200, headers).write(part, () => socket?.end());
        break;
      case "fin":
        response.writeHead(200, headers).write(part, () => socket?.end());
        break;
      case "reset":
        response.writeHead(200, headers).write(part, () => socket?.resetAndDestroy());
        break;
      case "stall":
      case "restart":
        if (fault.kind === "restart") this.record = undefined;
        response.writeHead(200, headers).flushHeaders();
        response.write(part);
        this.#stalled.add(response);
        break;
      case "clean end":
        response.writeHead(200, headers).end(part);
        break;
      case "flip":
        flipBit(body, Math.min(at, body.length >> 1));
        response.writeHead(200, headers).end(body);
        break;
      case "garbage":
        response.writeHead(200, headers).end(Buffer.alloc(1000, "garbage "));
        break;
    }
  }
}

/** Flips a bit in the first message body that ends after `at`, because hashes cover only bodies. */
function flipBit(stream: Buffer, at: number): void {
  const end = stream.indexOf(Buffer.from([0xff, 0xff, 0xff, 0xff]), at);
  stream[end - 1] = (stream[end - 1] ?? 0) ^ 1;
}

function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  retryAfterS?: number,
): void {
  const headers: Record<string, string> = { "content-type": "application/problem+json" };
  if (retryAfterS !== undefined) headers["retry-after"] = String(retryAfterS);
  response.writeHead(status, headers).end(JSON.stringify({ code, detail: `refused: ${code}` }));
}

function encapsulate({ metadata, body }: Piece): Buffer {
  const prefix = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
  prefix.writeUInt32LE(metadata.length, 4);
  return Buffer.concat([prefix, metadata, body]);
}

function split(stream: Buffer): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; stream.readUInt32LE(at + 4) > 0; ) {
    const metadata = stream.subarray(at + 8, at + 8 + stream.readUInt32LE(at + 4));
    // In a message with entries, the header type and the body's length have fixed offsets.
    const isSchema = pieces.length === 0;
    const bodyBytes = isSchema ? 0 : Number(metadata.readBigInt64LE(32));
    const bodyAt = at + 8 + metadata.length;
    const body = stream.subarray(bodyAt, bodyAt + bodyBytes);
    const firstRow = isSchema ? 0 : entry(metadata, "colonnade.first_row");
    pieces.push({ metadata, body, firstRow, isDictionary: metadata[46] === 2 });
    at = bodyAt + bodyBytes;
  }
  return pieces;
}

/** The offset of an entry's value: its length, then room for three digits. */
function valueAt(metadata: Buffer, key: string): number {
  const keyAt = metadata.indexOf(`${key}\0`);
  return keyAt + Math.ceil((key.length + 1) / 4) * 4;
}

function entry(metadata: Buffer, key: string): number {
  const at = valueAt(metadata, key);
  return Number(metadata.toString("latin1", at + 4, at + 4 + metadata.readUInt32LE(at)));
}

function setEntry(metadata: Buffer, key: string, value: number): void {
  const at = valueAt(metadata, key);
  const digits = String(value);
  metadata.writeUInt32LE(digits.length, at);
  metadata.write(digits.padEnd(4, "\0"), at + 4, "latin1");
}
