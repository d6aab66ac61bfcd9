import { createReadStream, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A host of files for pages of every origin. It answers ranges, unless it is told otherwise. */
export class FileHost {
  /** Also after the end, for requests that are answered late. */
  origin = "";
  /** The paths of files by the paths of their addresses. */
  files: Record<string, string> = {};
  sendsRanges = true;
  allowsPages = true;
  /** Answers this status instead. */
  status: number | undefined;
  /** Waits so long before each answer. */
  delayMs = 0;
  /** What identifies the files; another value says that they have changed. */
  etag = '"1"';
  /** The requests so far: method, and range if it has one. */
  readonly requests: string[] = [];
  /** The bytes of all answers. */
  numBytes = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      setTimeout(() => this.#respond(request, response), this.delayMs);
    });
  }

  /** Listens on a free port of loopback. */
  static async start(files: Record<string, string>): Promise<FileHost> {
    const host = new FileHost();
    host.files = files;
    await new Promise<void>((resolve) => host.#server.listen(0, "127.0.0.1", resolve));
    host.origin = `http://127.0.0.1:${(host.#server.address() as AddressInfo).port}`;
    return host;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #respond({ url = "/", method, headers }: IncomingMessage, response: ServerResponse): void {
    const path = this.files[new URL(url, this.origin).pathname];
    this.requests.push(`${method} ${headers.range ?? ""}`.trim());
    const common: Record<string, string> = { etag: this.etag };
    if (this.allowsPages) {
      common["access-control-allow-origin"] = "*";
      common["access-control-expose-headers"] = "etag";
    }
    if (path === undefined || this.status !== undefined) {
      response.writeHead(this.status ?? 404, common).end();
      return;
    }
    const { size } = statSync(path);
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
    const isPart = this.sendsRanges && first !== undefined;
    const start = isPart ? Number(first) : 0;
    const end = isPart ? Math.min(Number(last), size - 1) : size - 1;
    if (isPart) common["content-range"] = `bytes ${start}-${end}/${size}`;
    common["content-length"] = `${end - start + 1}`;
    response.writeHead(isPart ? 206 : 200, common);
    if (method === "HEAD") {
      response.end();
      return;
    }
    this.numBytes += end - start + 1;
    createReadStream(path, { start, end }).pipe(response);
  }
}
