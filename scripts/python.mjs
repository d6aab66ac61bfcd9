// Builds the wheel of the Python package: `python/dist/*.whl`, with the viewer inside.

import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "./build.mjs";
import { Obstacle, root, run, script } from "./run.mjs";
import { setUpPython } from "./setup.mjs";

/** The folder of the Python package. */
export const pythonFolder = join(root, "python");

/** Builds the wheel with the interpreter `python`; build the web package first. */
export async function buildPython(python) {
  const copies = {
    "web/dist/inline.js": "src/colonnade/inline.js",
    // The licences of what is in it (`license-files` of pyproject.toml), which must lie below python/.
    "web/LICENSE": "LICENSE",
    "web/THIRD_PARTY_LICENCES.md": "THIRD_PARTY_LICENCES.md",
  };
  for (const [from, to] of Object.entries(copies)) {
    copyFileSync(join(root, from), join(pythonFolder, to));
  }
  rmSync(join(pythonFolder, "dist"), { recursive: true, force: true });
  const options = ["--wheel", "--sdist", "--no-isolation", "--outdir", "dist"];
  await run(python, ["-m", "build", ...options], { cwd: pythonFolder });
}

/** Compares the drawn streams in `folder` with what pyarrow reads. */
export async function replayDrawn(python, folder) {
  await run(python, [join(root, "core", "tests", "drawn", "replay.py"), folder]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => {
    const environment = await setUpPython();
    if (environment === undefined)
      throw new Obstacle("the wheel needs Python 3.11 or later to build (python3)");
    await build(["wasm", "web"]);
    await buildPython(environment.python);
  });
}
