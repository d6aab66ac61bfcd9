import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, type Page } from "@playwright/test";
import { Table as ArrowTable, makeVector, tableToIPC } from "apache-arrow";
import type { Table } from "colonnade";
import type { ColonnadeViewer } from "colonnade/define";
import { seededRandom } from "../../web/test/random.js";
import { cell, test } from "./fixtures.js";
import { packageFile } from "./package.js";
import { SEED } from "./seed.js";
import { inCheckout } from "./server.js";
import { trappingModule } from "./trap.js";

/** A case that takes longer has hung; it is reported before the test's own timeout. */
const HUNG_MS = 60_000;
const isFull = process.env.COLONNADE_FULL !== undefined;
/** The number of flipped bits for each small stream; the decoder's tests flip every bit. */
const NUM_FLIPS = 12;

const PAGE = `<!doctype html><title>Hostile</title><script type="module" src="/define.js"></script>
<colonnade-viewer style="height: 300px"></colonnade-viewer>`;

declare const open: typeof import("colonnade").open;
declare const ColonnadeError: typeof import("colonnade").ColonnadeError;

/** The files that the page can fetch, by path. */
const files = new Map<string, Buffer | ((response: ServerResponse) => void)>();
let pages: HttpServer;

test.beforeAll(async () => {
  pages = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const own = files.get(path);
    if (typeof own === "function") return own(response);
    const type = path.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    const file = own === undefined ? packageFile(path, PAGE) : { type, bytes: own };
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": file.type }).end(file.bytes);
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
});

test.afterAll(() => {
  pages.close();
  pages.closeAllConnections();
});

async function visit(page: Page): Promise<void> {
  await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`);
  await page.evaluate(async () => {
    const entry = "/index.js";
    const { open, ColonnadeError } = (await import(entry)) as typeof import("colonnade");
    Object.assign(globalThis, { open, ColonnadeError });
    await customElements.whenDefined("colonnade-viewer");
  });
}

function readFolder(folder: string): [string, Buffer][] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((name) => [name, readFileSync(`${folder}/${name}`)]);
}

/** Opens and uses the files at `paths`, two at a time; resolves with the outcome of each. */
function openAll(page: Page, paths: string[]): Promise<{ outcome: string; elapsedMs: number }[]> {
  return page.evaluate(
    async ([paths, maxMs]) => {
      /** The code of a ColonnadeError; rethrows other errors and crashes. */
      const codeOf = (thrown: unknown) => {
        if (!(thrown instanceof ColonnadeError)) throw thrown;
        if (thrown.code === "decoder_crashed" || thrown.code === "worker_failed") throw thrown;
        return thrown.code;
      };
      /** Resolves when the table pauses because a message needs more than the memory budget. */
      const paused = (table: Table) =>
        new Promise<string>((resolve) => {
          if (table.paused !== undefined) return resolve(table.paused.code);
          table.addEventListener("pause", ({ detail }) => resolve(detail.code));
        });
      const use = async (table: Table) => {
        const column = table.schema.fields[0]?.name;
        const works = [
          table.text({ start: 0, end: 20 }),
          table.text({ start: table.numRows - 20, end: table.numRows }),
          table.find("1", { limit: 1, signal: AbortSignal.timeout(100) }),
        ];
        if (column !== undefined) {
          const signal = AbortSignal.timeout(100);
          works.push(table.text({ start: 0, end: table.numRows }, [0]));
          works.push(table.values(0, { start: 0, end: table.numRows }) as never);
          works.push(table.sort([{ column }], { signal }) as never);
          works.push(table.filter({ op: "is_null", column }, { signal }) as never);
          works.push(table.summary(column, { signal }) as never);
        }
        await Promise.all(works.map((work: Promise<unknown>) => work.catch(codeOf)));
      };
      const outcomes: { outcome: string; elapsedMs: number }[] = [];
      const within = <T>(work: Promise<T>): Promise<T> => {
        const hung = new Promise<never>((_, reject) => {
          setTimeout(() => reject(new Error(`no end within ${maxMs} ms`)), maxMs);
        });
        return Promise.race([work, hung]);
      };
      const run = async (path: string) => {
        const bytes = await (await fetch(path)).arrayBuffer();
        const startMs = performance.now();
        let outcome = "table";
        try {
          const table = await open(bytes, { memoryBytes: 2 ** 26 });
          outcome = await Promise.race([table.done.then(() => "table", codeOf), paused(table)]);
          await use(table);
          table.close();
        } catch (thrown) {
          outcome = codeOf(thrown);
        }
        return { outcome, elapsedMs: performance.now() - startMs };
      };
      let next = 0;
      const runNext = async () => {
        while (next < paths.length) {
          const index = next++;
          const path = paths[index] ?? "";
          try {
            outcomes[index] = await within(run(path));
          } catch (thrown) {
            throw new Error(`${path}: ${thrown}`);
          }
        }
      };
      await Promise.all([runNext(), runNext()]);
      return outcomes;
    },
    [paths, HUNG_MS] as const,
  );
}

test("hostile bytes result in a table or a ColonnadeError, and the page keeps working", async ({
  page,
}) => {
  console.log(`COLONNADE_SEED=${SEED}`);
  const random = seededRandom(SEED);
  const cases: [string, Buffer][] = readFolder(inCheckout("fixtures/bombs"));
  const conformance = process.env.COLONNADE_CONFORMANCE;
  if (conformance === undefined) console.log("COLONNADE_CONFORMANCE is not set: fewer cases");
  else cases.push(...readFolder(`${conformance}/arrow/fuzz-stream`));
  for (const [name, bytes] of readFolder(inCheckout("fixtures/small"))) {
    for (let flip = 0; flip < NUM_FLIPS; flip++) {
      const bit = Math.floor(random() * bytes.length * 8);
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      cases.push([`${name}-bit-${bit}`, flipped]);
    }
  }
  const paths = cases.map(([name, bytes]) => {
    const path = `/hostile/${encodeURIComponent(name)}`;
    files.set(path, bytes);
    return path;
  });
  await visit(page);
  const outcomes = await openAll(page, paths);
  const counts = new Map<string, number>();
  for (const { outcome } of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const slowestMs = Math.max(...outcomes.map(({ elapsedMs }) => elapsedMs));
  console.log(`${cases.length} cases, the slowest ${Math.round(slowestMs)} ms:`, counts);
  // A case is slow if it takes over a second in each of four tries, because the machine may be busy.
  let slow = paths.filter((_, index) => (outcomes[index]?.elapsedMs ?? 0) > 1000);
  for (let tries = 0; isFull && tries < 3 && slow.length > 0; tries++) {
    const again = await openAll(page, slow);
    slow = slow.filter((_, index) => (again[index]?.elapsedMs ?? 0) > 1000);
  }
  if (isFull) expect(slow).toEqual([]);
  files.set("/sound", readFileSync(inCheckout("fixtures/every_type.arrows")));
  expect((await openAll(page, ["/sound"]))[0]?.outcome).toBe("table");
});

const BATCH_ROWS = 100_000;

/** An Arrow stream of `numBatches` × 100,000 integers, split after its first batch. */
function numbers(numBatches: number): [Buffer, Buffer] {
  const values = Int32Array.from({ length: BATCH_ROWS }, (_, index) => index);
  const batch = new ArrowTable({ n: makeVector(values) });
  const one = Buffer.from(tableToIPC(batch, "stream"));
  const schemaBytes = 8 + one.readInt32LE(4);
  const message = one.subarray(schemaBytes, one.length - 8);
  const rest = Array.from({ length: numBatches - 1 }, () => message);
  return [one.subarray(0, one.length - 8), Buffer.concat([...rest, one.subarray(-8)])];
}

function show(page: Page, src: string, wasmSrc: string): Promise<void> {
  return page.evaluate(
    ([src, wasmSrc]) => {
      const viewer = document.querySelector("colonnade-viewer") as ColonnadeViewer;
      viewer.wasmSrc = wasmSrc ?? null;
      viewer.src = src ?? null;
    },
    [src, wasmSrc],
  );
}

function readState(page: Page): Promise<[string, string | undefined, string]> {
  return page.evaluate(async () => {
    const viewer = document.querySelector("colonnade-viewer") as ColonnadeViewer;
    const table = await viewer.ready;
    const read = table.text({ start: 0, end: 1 }).then(JSON.stringify, ({ code }) => code);
    return [table.state, table.error?.code, await read] as const;
  }) as Promise<[string, string | undefined, string]>;
}

test("a wasm module that traps during a stream: the shown rows stay, and Retry reads the whole stream", async ({
  page,
}) => {
  const [first, rest] = numbers(100);
  let goOn: () => void = () => undefined;
  const shown = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  files.set("/numbers", async (response) => {
    response.writeHead(200, { "content-type": "application/vnd.apache.arrow.stream" });
    response.write(first);
    await shown;
    response.end(rest);
  });
  // The trap at 20 MiB of memory is about halfway through the stream.
  files.set("/trap.wasm", trappingModule("decoder_advance", 320));
  await visit(page);
  await show(page, "/numbers", "/trap.wasm");
  await expect(cell(page, 3, 1)).toHaveText("3");
  goOn();
  await expect(page.getByRole("alert")).toContainText("decoder_crashed");
  await expect(page.getByRole("alert")).toHaveCount(1);
  await expect(cell(page, 3, 1)).toHaveText("3");
  expect(await readState(page)).toEqual(["failed", "decoder_crashed", "decoder_crashed"]);

  await page.evaluate(() => {
    (document.querySelector("colonnade-viewer") as ColonnadeViewer).wasmSrc = "/colonnade.wasm";
  });
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await page.evaluate(async () => {
    const table = await (document.querySelector("colonnade-viewer") as ColonnadeViewer).ready;
    await table.done;
  });
  expect(await readState(page)).toEqual(["complete", undefined, '[["0"]]']);
  await expect(cell(page, 3, 1)).toHaveText("3");
});

test("a wasm module that traps on a complete table: an alert appears, and the shown rows stay", async ({
  page,
}) => {
  const [first, rest] = numbers(2);
  files.set("/complete", Buffer.concat([first, rest]));
  files.set("/trap.wasm", trappingModule("decoder_summary"));
  await visit(page);
  await show(page, "/complete", "/trap.wasm");
  await expect(cell(page, 3, 1)).toHaveText("3");
  const code = await page.evaluate(async () => {
    const table = await (document.querySelector("colonnade-viewer") as ColonnadeViewer).ready;
    await table.done;
    return table.summary("n").catch(({ code }) => code);
  });
  expect(code).toBe("decoder_crashed");
  await expect(page.getByRole("alert")).toContainText("decoder_crashed");
  await expect(cell(page, 3, 1)).toHaveText("3");
  expect(await readState(page)).toEqual(["failed", "decoder_crashed", "decoder_crashed"]);
});
