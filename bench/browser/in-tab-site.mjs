// The pages of the readers that show a remote Parquet file, with the code that they load.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { root } from "../../scripts/run.mjs";

const PAGES = join(root, "bench/page/in-tab");
const MODULES = join(root, "node_modules");

/** The script that finds out when a row is painted; it runs before those of each page. */
export const LOOK = join(PAGES, "look.js");

/** The peers by name. */
export const PEERS = ["hyparquet", "duckdb-wasm", "parquet-wasm"];

/** Code and pages by path; `files` are the names of the files in `/files/`. */
export async function inTabSite(files) {
  const code = {};
  const dist = join(root, "web/dist");
  for (const name of readdirSync(dist).filter((file) => /\.(js|wasm)$/.test(file))) {
    code[`package/${name}`] = readFileSync(join(dist, name));
  }
  Object.assign(code, await peerCode());
  const pageOf = (name, words) =>
    Object.entries(words).reduce(
      (text, [word, by]) => text.replaceAll(word, by),
      readFileSync(join(PAGES, name), "utf8"),
    );
  for (const file of files) {
    const FILE = `/files/${file}.parquet`;
    code[`colonnade/${file}/show.html`] = pageOf("colonnade.html", { FILE });
    code[`colonnade/${file}/all.html`] = pageOf("colonnade-all.html", { FILE });
    for (const PEER of PEERS) {
      for (const TASK of ["show", "all"]) {
        code[`${PEER}/${file}/${TASK}.html`] = pageOf("peer.html", {
          ...{ FILE, PEER, TASK },
          STYLE: PEER === "hyparquet" ? `<link rel="stylesheet" href="/peers/${PEER}.css" />` : "",
        });
      }
    }
  }
  return code;
}

/** The peers' scripts as a bundler minifies them, each in one file, with their workers and wasm modules. */
async function peerCode() {
  const duckdb = join(MODULES, "@duckdb/duckdb-wasm/dist");
  const code = {
    "peers/hyparquet.css": readFileSync(join(MODULES, "hightable/dist/HighTable.css")),
    "peers/duckdb-worker.js": readFileSync(join(duckdb, "duckdb-browser-eh.worker.js")),
    "peers/duckdb.wasm": readFileSync(join(duckdb, "duckdb-eh.wasm")),
  };
  for (const name of PEERS) {
    const result = await build({
      configFile: false,
      logLevel: "error",
      root: join(root, "bench"),
      build: {
        target: "es2022",
        write: false,
        modulePreload: false,
        rolldownOptions: {
          input: join(PAGES, `${name}.ts`),
          output: { entryFileNames: "[name].js", assetFileNames: "[name][extname]" },
        },
      },
    });
    const { output } = Array.isArray(result) ? result[0] : result;
    for (const { fileName, code: script, source } of output) {
      code[`peers/${fileName}`] = script ?? source;
    }
  }
  return code;
}
