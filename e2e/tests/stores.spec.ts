// A table in a bucket of an S3-compatible server, from its first row to its last.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { freePort } from "../../scripts/free-port.mjs";
import {
  test as base,
  cell,
  chooseTable,
  expect,
  goToRow,
  SMALL_COMPLETE,
  SMALL_ROWS,
  textOf,
} from "./fixtures.js";
import { Server, smallFile } from "./server.js";

/** Starts moto_server with `flights` in a bucket; null if the program is not installed. */
async function startStore(): Promise<{ origin: string; process: ChildProcess } | null> {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const args = ["-H", "127.0.0.1", "-p", new URL(origin).port];
  const program = process.env.COLONNADE_MOTO_SERVER ?? "moto_server";
  const store = spawn(program, args, { stdio: "ignore" });
  const isMissing = await new Promise((resolve) => {
    store.once("error", () => resolve(true));
    store.once("spawn", () => resolve(false));
  });
  if (isMissing) return null;
  const answers = () =>
    fetch(`${origin}/moto-api/`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(answers, { timeout: 60_000 }).toBe(true);
  const put = async (path: string, body: Uint8Array<ArrayBuffer> | null = null) => {
    const response = await fetch(`${origin}${path}`, { method: "PUT", body });
    expect(response.status).toBe(200);
  };
  await put("/lake");
  await put("/lake/air/flights.parquet", new Uint8Array(readFileSync(smallFile("flights"))));
  return { origin, process: store };
}

const test = base.extend<object, { bucket: Server | null }>({
  bucket: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
    async ({}, use) => {
      const store = await startStore();
      if (store === null) {
        await use(null);
        return;
      }
      const server = await Server.start(["s3://lake/air"], {
        AWS_ENDPOINT_URL: store.origin,
        AWS_ALLOW_HTTP: "true",
        AWS_REGION: "us-east-1",
        AWS_ACCESS_KEY_ID: "someone",
        AWS_SECRET_ACCESS_KEY: "something",
      });
      await use(server);
      await server.kill();
      store.process.kill();
    },
    { scope: "worker", timeout: 120_000 },
  ],
});

test("a table in a bucket shows the same first, middle and last rows as the file", async ({
  page,
  small,
  bucket,
}) => {
  test.skip(bucket === null, "COLONNADE_MOTO_SERVER is not set, and moto_server is not installed");
  const texts: string[][] = [];
  for (const origin of [small.origin, bucket?.origin ?? ""]) {
    await page.goto(origin);
    await chooseTable(page, "flights");
    const first = await textOf(cell(page, 0, 1));
    await goToRow(page, SMALL_ROWS / 2);
    const middle = await textOf(cell(page, SMALL_ROWS / 2 - 1, 1));
    // Before the table is complete, Control+End goes to the last row that has arrived.
    await expect(page.getByRole("status")).toContainText(SMALL_COMPLETE);
    await page.getByRole("grid").focus();
    await page.keyboard.press("Control+End");
    texts.push([first, middle, await textOf(cell(page, SMALL_ROWS - 1, 1))]);
  }
  expect(texts[1]).toEqual(texts[0]);
});
