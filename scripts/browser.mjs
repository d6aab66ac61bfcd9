// `node scripts/browser.mjs [ARGS]`: builds everything and runs `playwright test ARGS`. `npm run pictures`
// runs it for the README's pictures.

import { pathToFileURL } from "node:url";
import { build } from "./build.mjs";
import { buildTestedServer } from "./cargo.mjs";
import { buildPython } from "./python.mjs";
import { run, script } from "./run.mjs";
import { setUpBrowsers, setUpEngines, setUpPython, setUpWebKit } from "./setup.mjs";
import { provideFlights } from "./start.mjs";

/** Runs the tests in a real browser; `args` are Playwright's. */
export async function testInBrowser(args = []) {
  await build(["wasm", "web"]);
  await buildTestedServer();
  provideFlights();
  const python = await setUpPython();
  if (python) await buildPython(python.python);
  await run("npm", ["test", "-w", "@colonnade/e2e", "--", ...args], {
    env: {
      ...(await setUpBrowsers()),
      ...(process.env.COLONNADE_FULL ? await setUpWebKit() : {}),
      ...(await setUpEngines()),
      ...(python
        ? { COLONNADE_PYTHON: python.python, COLONNADE_PYTHON_PACKAGES: python.packages }
        : {}),
    },
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(() => testInBrowser(process.argv.slice(2)));
}
