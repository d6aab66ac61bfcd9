import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { serveStream } from "../src/http/serve-ports.js";
import type { StreamProgress } from "../src/model/progress.js";
import type { Notices } from "../src/rpc/messages.js";
import { BodyDecoder } from "../src/worker/body-decoder.js";
import { TableStream } from "../src/worker/table-stream.js";

const wasm = readFileSync(new URL("../pkg/colonnade_wasm_bg.wasm", import.meta.url));
const bytes = readFileSync(new URL("../../fixtures/numbered.arrows", import.meta.url));
const PIECE_BYTES = 512;
const COLUMNS = Uint32Array.of(0, 1, 2);

/** A stream of a source that cannot answer by row. */
class Reading {
  numPulled = 0;
  progress: StreamProgress | undefined;
  readonly ended: Promise<Notices["end"]>;
  readonly stream: TableStream;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const start = this.numPulled++ * PIECE_BYTES;
          if (start >= bytes.length) controller.close();
          else controller.enqueue(new Uint8Array(bytes.subarray(start, start + PIECE_BYTES)));
        },
      },
      { highWaterMark: 0 },
    );
    serveStream(body, port1);
    let resolveEnd: (end: Notices["end"]) => void = () => undefined;
    this.ended = new Promise((resolve) => {
      resolveEnd = resolve;
    });
    this.stream = new TableStream({ kind: "port", port: port2, end: "marker" }, (name, data) => {
      if (name === "end") resolveEnd(data as Notices["end"]);
      else this.progress = data as StreamProgress;
    });
  }

  async open(memoryBytes: number): Promise<void> {
    const { memory } = await init({ module_or_path: wasm });
    await this.stream.open(Promise.resolve(new BodyDecoder(new Decoder(memoryBytes), memory)));
  }

  async paused(): Promise<StreamProgress> {
    await expect.poll(() => this.progress?.pause).toMatchObject({ code: "memory_budget_exceeded" });
    return this.progress as StreamProgress;
  }

  texts(): string {
    const { rows } = this.progress ?? { rows: 0 };
    const packed = this.stream.decoder?.kernels.window(0, 0, rows, COLUMNS, 0);
    return Buffer.from(packed ?? []).toString("latin1");
  }
}

test("a full budget blocks the sender until there is a larger one", async () => {
  const whole = new Reading();
  await whole.open(2 ** 30);
  expect(await whole.ended).toMatchObject({ state: "complete", rows: 300 });

  for (const growth of [100, 700, 5000]) {
    let memoryBytes = 3000;
    const reading = new Reading();
    await reading.open(memoryBytes);
    const { rows } = await reading.paused();
    expect(rows).toBeGreaterThan(0);
    const numPulled = reading.numPulled;
    let end: Notices["end"] | undefined;
    void reading.ended.then((ended) => {
      end = ended;
    });
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(reading.numPulled, "nothing is read while it waits").toBe(numPulled);
    while (end === undefined) {
      if (reading.progress?.pause !== undefined) {
        memoryBytes += growth;
        reading.progress = undefined;
        reading.stream.grow(memoryBytes);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(end).toMatchObject({ state: "complete", rows: 300 });
    expect(end.pause).toBeUndefined();
    reading.progress = end;
    whole.progress = end;
    expect(reading.texts()).toBe(whole.texts());
  }
});

test("rows stay when a pause ends with a cancel", async () => {
  const reading = new Reading();
  await reading.open(3000);
  const { rows } = await reading.paused();
  reading.stream.stop();
  expect(await reading.ended).toMatchObject({ state: "cancelled", rows });
  expect(reading.texts()).toContain("row 1north2row 2north");
});

test("a budget smaller than the first message pauses too", async () => {
  const reading = new Reading();
  await reading.open(1);
  expect(await reading.paused()).toMatchObject({ rows: 0 });
  reading.stream.grow(2 ** 30);
  expect(await reading.ended).toMatchObject({ state: "complete", rows: 300 });
});
