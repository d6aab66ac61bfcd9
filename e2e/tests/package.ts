import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inCheckout } from "./server.js";

const TYPES: Record<string, string> = { js: "text/javascript", wasm: "application/wasm" };

/** `html` at `/`, and the built package's files beside it. */
export function packageFile(
  path: string,
  html: string,
): { type: string; bytes: Buffer } | undefined {
  if (path === "/") return { type: "text/html", bytes: Buffer.from(html) };
  const file = inCheckout(`web/dist${path}`);
  const type = TYPES[path.split(".").at(-1) ?? ""];
  if (type === undefined || !existsSync(file)) return undefined;
  return { type, bytes: readFileSync(file) };
}

/** A web server of somebody who uses the package in a page of their own. */
export class PageServer {
  readonly #server;

  constructor(html: string) {
    this.#server = createServer((request, response) => {
      const file = packageFile(new URL(request.url ?? "/", "http://localhost").pathname, html);
      if (file === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "content-type": file.type }).end(file.bytes);
    });
  }

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
}
