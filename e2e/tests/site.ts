import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { pipeline, type Transform } from "node:stream";

const TYPES: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

/** A plain web server of files, as somebody who uses the package has one. */
export class Site {
  /** Folders by the path that they stand at; the longest path that fits is taken. */
  folders: Record<string, string> = {};
  /** HTML by its path. */
  pages: Record<string, string> = {};
  /** Sent with every file. */
  headers: Record<string, string> = {};
  /** Where `/v1/…` is passed on to, if anywhere. */
  upstream: string | undefined;
  /** What the answer to a path that is passed on goes through, if anything. */
  through: (path: string) => Transform | undefined = () => undefined;
  readonly #server = createServer((request, response) => this.#answer(request, response));

  /** Starts to listen on a free port of loopback. */
  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(asked: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(asked.url ?? "/", this.origin);
    if (this.upstream !== undefined && pathname.startsWith("/v1/")) {
      this.#passOn(asked, response);
      return;
    }
    const html = this.pages[pathname];
    if (html !== undefined) {
      response.writeHead(200, { ...this.headers, "content-type": "text/html" }).end(html);
      return;
    }
    const file = this.#find(pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { ...this.headers, "content-type": type }).end(readFileSync(file));
  }

  #find(pathname: string): string | undefined {
    const places = Object.keys(this.folders).filter((path) => pathname.startsWith(path));
    const [place = ""] = places.sort((a, b) => b.length - a.length);
    const file = join(this.folders[place] ?? "", pathname.slice(place.length));
    return existsSync(file) && statSync(file).isFile() ? file : undefined;
  }

  #passOn(asked: IncomingMessage, response: ServerResponse): void {
    const { method, headers } = asked;
    const { host } = new URL(this.upstream ?? "");
    const passed = request(`${this.upstream}${asked.url}`, {
      method,
      headers: { ...headers, host },
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
