// Measures `<colonnade-viewer>` with lineitem in Chromium, Firefox and WebKitGTK.

import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { firefox } from "@playwright/test";
import { root, say } from "../scripts/run.mjs";
import { setUpBrowsers, setUpWebKit } from "../scripts/setup.mjs";
import { Site } from "../scripts/site.mjs";
import { startWebKit } from "../scripts/webkit.mjs";
import { formatMs, fraction, markdown, median, spread } from "./browser/format.mjs";
import { verdict } from "./browser/machine.mjs";
import { Peak } from "./browser/memory.mjs";
import { REPORT, startUndriven, WAITING } from "./browser/undriven.mjs";
import { startServer } from "./server.mjs";

const MAX_RATIO = 1.7;
const TIMEOUT_MS = 120_000;

/** The page; `measured` is set at the end. */
const PAGE = `<!doctype html><title>Browsers</title><style>colonnade-viewer { height: 600px }</style>
<script type="module">
const frame = () => new Promise(requestAnimationFrame);
const element = document.querySelector("colonnade-viewer");
const deep = (selector) => element.shadowRoot?.querySelector(selector);
const hasText = () => deep("[role=gridcell]:not(.pending)")?.textContent;
const painted = (async () => {
  while (!hasText()) await frame();
  await frame();
  return performance.now();
})();
await import("/package/define.js");
const table = await element.ready;
await table.done;
const lastMs = performance.now();
const scroller = deep("[role=grid]");
const frames = [];
for (let last = await frame(); frames.length < 200; ) {
  scroller.scrollTop += 400;
  const now = await frame();
  frames.push(now - last);
  last = now;
}
window.measured = { paintedMs: await painted, lastMs, frames, state: table.state };
${REPORT}
</script>`;

/** Samples of each browser, by name; undefined except on Linux. */
export async function measureBrowsers({ chromium, lineitem, numRounds }) {
  if (process.platform !== "linux") return undefined;
  const site = new Site();
  await site.listen();
  const server = await startServer([
    `lineitem=${lineitem.arrow}`,
    ...["--allow-origin", site.origin],
  ]);
  const viewer = `<colonnade-viewer src="${server.origin}/v1/tables/lineitem/rows"></colonnade-viewer>`;
  site.folders = { "/package": join(root, "web/dist") };
  site.pages = { "/": viewer + PAGE, "/empty": WAITING };
  const empty = `${site.origin}/empty`;
  const browsers = await browsersOf(chromium, empty);
  const samples = Object.fromEntries(Object.keys(browsers).map((name) => [name, []]));
  try {
    for (let round = 1; round <= numRounds; round++) {
      for (const [name, start] of Object.entries(browsers)) {
        say(`lineitem in ${name}, round ${round}`);
        const page = await start();
        await page.goto(empty);
        const peak = new Peak();
        await page.goto(site.origin);
        const measured = await until(() => page.evaluate("window.measured"), name);
        samples[name].push({ ...measured, peakBytes: peak.end() });
        await page.close();
      }
    }
  } finally {
    await server.close();
    site.close();
  }
  return { samples, numBytes: statSync(lineitem.arrow).size };
}

/** What opens a page of each browser that there is, by the browser's name. */
async function browsersOf(chromium, empty) {
  const { COLONNADE_FIREFOX: program = firefox.executablePath() } = await setUpBrowsers([
    "Firefox",
  ]);
  const inWebKit = async () => {
    const { driver, close } = await startWebKit();
    return {
      goto: (url) => driver.get(url),
      evaluate: (expression) => driver.executeScript(`return ${expression}`),
      close,
    };
  };
  const { COLONNADE_WEBKIT: hasWebKit } = await setUpWebKit();
  return {
    Chromium: () => chromium.newPage(),
    Firefox: () => startUndriven(program, empty),
    ...(hasWebKit ? { WebKitGTK: inWebKit } : {}),
  };
}

async function until(read, name) {
  for (let waitedMs = 0; waitedMs < TIMEOUT_MS; waitedMs += 500) {
    await wait(500);
    const value = await read();
    if (value?.state === "complete") return value;
    if (value) throw new Error(`lineitem is ${value.state} in ${name}`);
  }
  throw new Error(`lineitem is not complete in ${name} after ${TIMEOUT_MS} ms`);
}

const ABOUT = `# The browsers

\`<colonnade-viewer>\` reads lineitem from the server, which sends it from an Arrow file to a page of another origin. The
browsers take turns. After the last row, the grid scrolls by 400 px in each of 200 frames.

- *First row painted* and *last row*: since the page was opened.
- *Memory / bytes*: the peak of all processes of the browser, without that of an empty page, by the size of the file.
- *Frame*: the time from one frame to the next, which 95 of 100 frames did not exceed.

WebKit takes bytes faster than they are read, so there a table is requested in parts of 12 MB.`;

const MEASURES = {
  "first row painted": ({ paintedMs }) => paintedMs,
  "last row": ({ lastMs }) => lastMs,
  memory: ({ peakBytes }) => peakBytes,
  frame: ({ frames }) => frames.toSorted((a, b) => a - b)[Math.floor(frames.length * 0.95)],
};

/** The section of the report, with one line for each browser. */
export function browsersSection({ samples, numBytes }) {
  const rows = Object.entries(samples).map(([name, taken]) => [
    name,
    spread(taken.map(MEASURES["first row painted"])),
    spread(taken.map(MEASURES["last row"])),
    (median(taken.map(MEASURES.memory)) / numBytes).toFixed(2),
    spread(taken.map(MEASURES.frame)),
    formatMs(Math.max(...taken.flatMap(({ frames }) => frames))),
  ]);
  const head = ["ms", "first row painted", "last row", "memory / bytes", "frame", "longest frame"];
  return `${ABOUT}\n\n${markdown(head, rows)}`;
}

/** Rows of the table of targets. */
export function browserTargets({ samples: { Chromium: chromium, ...others } }) {
  return Object.entries(others).flatMap(([name, taken]) =>
    Object.entries(MEASURES).map(([measure, of]) => {
      const ratio = median(taken.map(of)) / median(chromium.map(of));
      const limit = `at most ${MAX_RATIO.toFixed(2)} of Chromium`;
      return [
        `lineitem in ${name}: ${measure}`,
        limit,
        fraction(ratio),
        verdict(ratio <= MAX_RATIO),
      ];
    }),
  );
}
