import { existsSync, readFileSync } from "node:fs";
import { Site } from "../../scripts/site.mjs";
import { inCheckout } from "./server.js";

const TYPES: Record<string, string> = { js: "text/javascript", wasm: "application/wasm" };

/** The file at a path: `html` at `/`, otherwise a file of the built package. */
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

/** A web server with a page that uses the built package. */
export class PageServer extends Site {
  constructor(html: string) {
    super();
    this.pages = { "/": html };
    this.folders = { "/": inCheckout("web/dist") };
  }
}
