import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join } from "node:path";
import { pipeline } from "node:stream";

/** @type {Record<string, string>} */
const TYPES = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

/** A plain web server of files on loopback, as somebody who uses the package has one. */
export class Site {
  /** Folders by the path that they stand at; the longest path that fits is taken. @type {Record<string, string>} */
  folders = {};
  /** Pages by their path, which come before files. @type {Record<string, string>} */
  pages = {};
  /** Sent with every file. @type {Record<string, string>} */
  headers = {};
  /** Where `/v1/…` is passed on to, if anywhere. @type {string | undefined} */
  upstream = undefined;
  /**
   * What the answer to a path that is passed on goes through, if anything.
   *
   * @type {(path: string) => import("node:stream").Transform | undefined}
   */
  through = () => undefined;
  #server = createServer((asked, response) => this.#answer(asked, response));

  /** Starts to listen; 0 is a free port. @param {number} [port] */
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
   * @param {import("node:http").IncomingMessage} asked
   * @param {import("node:http").ServerResponse} response
   */
  #answer(asked, response) {
    const { pathname } = new URL(asked.url ?? "/", this.origin);
    if (this.upstream !== undefined && pathname.startsWith("/v1/")) {
      this.#passOn(asked, response);
      return;
    }
    const content = this.#find(pathname);
    if (content === undefined) {
      response.writeHead(404).end();
      return;
    }
    const extension = extname(pathname) || ".html";
    const type = TYPES[extension] ?? "application/octet-stream";
    response.writeHead(200, { ...this.headers, "content-type": type }).end(content);
  }

  /** @param {string} pathname */
  #find(pathname) {
    const page = this.pages[pathname];
    if (page !== undefined) return page;
    const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    const places = Object.keys(this.folders).filter((place) => path.startsWith(place));
    const [place = ""] = places.sort((a, b) => b.length - a.length);
    const file = join(this.folders[place] ?? "", path.slice(place.length));
    return existsSync(file) && statSync(file).isFile() ? readFileSync(file) : undefined;
  }

  /**
   * @param {import("node:http").IncomingMessage} asked
   * @param {import("node:http").ServerResponse} response
   */
  #passOn(asked, response) {
    const { host } = new URL(this.upstream ?? "");
    const passed = request(`${this.upstream}${asked.url}`, {
      method: asked.method,
      headers: { ...asked.headers, host },
    });
    passed.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      const through = this.through(asked.url ?? "");
      if (through === undefined) answer.pipe(response);
      else pipeline(answer, through, response, () => undefined);
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    asked.pipe(passed);
  }
}
