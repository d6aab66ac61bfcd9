// `npm run examples`: sets up, builds, and serves `examples/gallery` together with a server of the demo tables.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "./build.mjs";
import { root, say, script } from "./run.mjs";
import { Site } from "./site.mjs";
import { provideFlights, serverBinary } from "./start.mjs";

const PORT = 7880;

/** A site with the gallery and the built package; set `upstream` so that its pages reach a server's `/v1`. */
export function gallery() {
  const site = new Site();
  site.folders = {
    "/": join(root, "examples", "gallery"),
    "/node_modules/colonnade/": join(root, "web"),
  };
  return site;
}

async function main() {
  await build();
  provideFlights();
  const address = `http://127.0.0.1:${PORT}`;
  const args = ["serve", "--listen", "127.0.0.1:0", "--allow-origin", address];
  const server = spawn(serverBinary, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  const site = gallery();
  site.upstream = String(line).replace("listening on ", "");
  await site.listen(PORT);
  say(`the examples are at ${site.origin}`);
  const [code] = await once(server, "exit");
  site.close();
  process.exitCode = code ?? 0;
}

if (process.argv[1]?.endsWith("examples.mjs")) await script(main);
