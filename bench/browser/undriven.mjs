// A Firefox that no driver drives: its driver has it keep the bodies of all responses, which doubles its memory.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";

/** How long a Firefox with a new profile sets itself up. */
const SETTLE_MS = 6000;

/** A page that waits for the address of the next one, if its own address says where to ask. */
export const WAITING = `<!doctype html><title>Empty</title><script type="module">
const next = new URLSearchParams(location.search).get("next");
if (next) location.href = await (await fetch(next)).text();
</script>`;

/** What the measured page sends its result with, if its address says where to. */
export const REPORT = `const report = new URLSearchParams(location.search).get("report");
if (report) await fetch(report, { method: "POST", body: JSON.stringify(window.measured) });`;

/**
 * Starts Firefox with the page `waiting`, which is {@link WAITING}.
 *
 * @param {string} program
 * @param {string} waiting
 */
export async function startUndriven(program, waiting) {
  let measured;
  const relay = createServer();
  const asked = new Promise((resolve) => {
    relay.on("request", async (request, response) => {
      response.setHeader("access-control-allow-origin", "*");
      if (request.method !== "POST") return resolve(response);
      measured = JSON.parse(await text(request));
      return response.end();
    });
  });
  await new Promise((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${relay.address().port}`;
  const profile = mkdtempSync(join(tmpdir(), "colonnade-firefox-"));
  const flags = ["--headless", "--no-remote", "--profile", profile];
  const child = spawn(program, [...flags, `${waiting}?next=${origin}`], { stdio: "ignore" });
  const failed = new Promise((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`Firefox ended with exit ${code}`)));
  });
  const next = await Promise.race([asked, failed]);
  await wait(SETTLE_MS);
  return {
    goto: (url) => url === waiting || next.end(`${url}?report=${origin}`),
    evaluate: () => measured,
    close: async () => {
      await new Promise((resolve) => child.once("exit", resolve).kill());
      relay.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
