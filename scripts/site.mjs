import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join } from "node:path";
import { PassThrough, pipeline } from "node:stream";

/** @type {Record<string, string>} */
const TYPES = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

/** A plain web server of files on loopback, like that of a user of the package. */
export class Site {
  /** Folders by the prefix of their URL paths; the longest matching prefix wins. @type {Record<string, string>} */
  folders = {};
  /** Pages by their path; they take precedence over files. @type {Record<string, string>} */
  pages = {};
  /** Headers of all files. @type {Record<string, string>} */
  headers = {};
  /** The origin to which `/v1/…` is forwarded, if any. @type {string | undefined} */
  upstream = undefined;
  /**
   * A transform for the response to a forwarded path, if any.
   *
   * @type {(path: string) => import("node:stream").Transform | undefined}
   */
  through = () => undefined;
  #server = createServer((incoming, response) => this.#respond(incoming, response));

  /** Listens on a port of loopback; 0 takes a free one. @param {number} [port] */
  async listen(port = 0) {
    await new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => resolve(undefined));
    });
  }

  /** @returns {string} */
  get origin() {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /**
   * @param {import("node:http").IncomingMessage} incoming
   * @param {import("node:http").ServerResponse} response
   */
  #respond(incoming, response) {
    const { pathname } = new URL(incoming.url ?? "/", this.origin);
    if (this.upstream !== undefined && pathname.startsWith("/v1/")) {
      this.#forward(incoming, response);
      return;
    }
    const content = this.#find(pathname);
    if (content === undefined) {
      response.writeHead(404).end();
      return;
    }
    const extension = extname(pathname) || ".html";
    const type = TYPES[extension] ?? "application/octet-stream";
    const bytes = Buffer.from(content);
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(incoming.headers.range ?? "") ?? [];
    const part = first === undefined ? bytes : bytes.subarray(Number(first), Number(last) + 1);
    response.writeHead(first === undefined ? 200 : 206, {
      ...this.headers,
      ...(first === undefined
        ? {}
        : { "content-range": `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}` }),
      "content-length": part.length,
      "content-type": type,
    });
    response.end(part);
  }

  /** @param {string} pathname */
  #find(pathname) {
    const page = this.pages[pathname];
    if (page !== undefined) return page;
    const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    const prefixes = Object.keys(this.folders).filter((prefix) => path.startsWith(prefix));
    const [prefix = ""] = prefixes.sort((a, b) => b.length - a.length);
    const file = join(this.folders[prefix] ?? "", path.slice(prefix.length));
    return existsSync(file) && statSync(file).isFile() ? readFileSync(file) : undefined;
  }

  /**
   * @param {import("node:http").IncomingMessage} incoming
   * @param {import("node:http").ServerResponse} response
   */
  #forward(incoming, response) {
    const { host } = new URL(this.upstream ?? "");
    const outgoing = request(`${this.upstream}${incoming.url}`, {
      method: incoming.method,
      headers: { ...incoming.headers, host },
    });
    outgoing.on("response", (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
      const through = this.through(incoming.url ?? "") ?? new PassThrough();
      pipeline(upstreamResponse, through, response, () => undefined);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  }
}
