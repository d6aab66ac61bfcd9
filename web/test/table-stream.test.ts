import { expect, test } from "vitest";
import { serveStream } from "../src/http/serve-ports.js";
import type { EndRule } from "../src/model/wire-source.js";
import { yieldToEventLoop } from "../src/rpc/event-loop.js";
import type { Notices } from "../src/rpc/messages.js";
import { BodyDecoder, type WasmDecoder } from "../src/worker/body-decoder.js";
import { TableStream } from "../src/worker/table-stream.js";
import type { WasmView } from "../src/worker/wasm-kernels.js";

/**
 * A decoder of a toy format: `S` is the schema, each `R` a row, `E` the marker, and `(` and `)` begin
 * and end a message. It takes at most three bytes at a time.
 */
function toyDecoder(): BodyDecoder {
  const memory = new WebAssembly.Memory({ initial: 1 });
  let text = "";
  const decoder = {
    spacePtr: () => 16,
    spaceLen: () => 3,
    advance: (numBytes) => {
      text += new TextDecoder().decode(new Uint8Array(memory.buffer, 16, numBytes));
      if (text.includes("!")) {
        throw Object.assign(new Error("bad byte"), {
          code: "bad_message",
          byte: text.indexOf("!"),
        });
      }
    },
    finish: () => {
      throw Object.assign(new Error("no marker"), { code: "missing_end_of_stream", row: rows() });
    },
    resume: () => undefined,
    isComplete: () => text.includes("E"),
    atMessageBoundary: () => !/\([^)]*$/.test(text),
    schemaJson: () => (text.includes("S") ? '{"fields":[],"metadata":{}}' : undefined),
    numRows: () => rows(),
    numBatches: () => 0,
    allRows: () => ({ free: () => undefined }) as WasmView,
    window: () => new Uint8Array(),
  } as Partial<WasmDecoder> as WasmDecoder;
  const rows = () => text.split("R").length - 1;
  return new BodyDecoder(decoder, memory);
}

const FIRST_CELLS = { numRows: 2, numColumns: 1, maxChars: 0 };

/** Called when a shown table has rows, with its stream and the number of requested pieces. */
type OnRows = (stream: TableStream, numAsked: () => number) => void;

/**
 * Runs a stream of pieces to its end. A piece that is an Error breaks the stream; `stall` never
 * arrives.
 */
async function run(
  pieces: (string | Error | "stall")[],
  end: EndRule,
  onRows?: OnRows,
  stopAfterMs?: number,
) {
  const { port1, port2 } = new MessageChannel();
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      // Pieces that are available already would arrive as one.
      if (onRows !== undefined) for (let turn = 0; turn < 5; turn++) await yieldToEventLoop();
      const piece = left.shift();
      if (piece === "stall") return new Promise(() => undefined);
      if (piece === undefined) controller.close();
      else if (piece instanceof Error) controller.error(piece);
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
  serveStream(body, port1);
  let resolveEnd: (end: Notices["end"]) => void = () => undefined;
  const ended = new Promise<Notices["end"]>((resolve) => {
    resolveEnd = resolve;
  });
  const source = { kind: "port", port: port2, end } as const;
  const stream = new TableStream(source, (name, data) => {
    if (name === "end") resolveEnd(data as Notices["end"]);
    else if (name === "progress") onRows?.(stream, () => pieces.length - left.length);
  });
  try {
    const opened = await stream.open(Promise.resolve(toyDecoder()), onRows && FIRST_CELLS);
    if (stopAfterMs !== undefined) setTimeout(() => stream.stop(), stopAfterMs);
    return { ...(await ended), rowsAtFirst: opened.progress.rows };
  } finally {
    port1.close();
    port2.close();
  }
}

test("the marker completes, and bytes after it are ignored", async () => {
  expect(await run(["S(R", "R)", "E", "R!"], "marker")).toMatchObject({
    state: "complete",
    rows: 2,
  });
});

test("the marker completes, even if the body does not end", async () => {
  expect(await run(["S(R)E", "stall"], "marker")).toMatchObject({ state: "complete", rows: 1 });
});

test("without the marker, a stream fails and keeps its rows", async () => {
  const end = await run(["S(R)", "(R)"], "marker");
  expect(end).toMatchObject({ state: "failed", rows: 2, error: { code: "missing_end_of_stream" } });
});

test("a bounded source may end between messages, with a warning", async () => {
  expect(await run(["S(R)(R)"], "boundary")).toMatchObject({
    state: "complete",
    warning: "no_end_of_stream",
    rows: 2,
  });
  expect(await run(["S(R)(R"], "boundary")).toMatchObject({
    state: "failed",
    error: { code: "missing_end_of_stream" },
  });
});

test("a broken connection is a network error with a position", async () => {
  expect(await run(["S(R)", new TypeError("reset")], "marker")).toMatchObject({
    state: "failed",
    rows: 1,
    error: { code: "network_error", row: 1, byte: 4 },
  });
});

test("a decoder's error ends the stream with its own code and position", async () => {
  expect(await run(["S(R)(", "!!"], "marker")).toMatchObject({
    state: "failed",
    error: { code: "bad_message", byte: 5 },
  });
});

test("a failure before the schema rejects", async () => {
  await expect(run([""], "boundary")).rejects.toMatchObject({ code: "missing_end_of_stream" });
  await expect(run([new TypeError("reset")], "marker")).rejects.toMatchObject({
    code: "network_error",
  });
});

test("reading pauses until the first rows are painted", async () => {
  const asked: number[] = [];
  const end = await run(
    ["S(R)", ...Array(8).fill("(R)"), "E"],
    "marker",
    async (stream, numAsked) => {
      // Enough time for all pieces.
      for (let turn = 0; turn < 100; turn++) await yieldToEventLoop();
      asked.push(numAsked());
      stream.painted();
    },
  );
  // The port and the streams around it buffer a few pieces.
  expect(asked[0]).toBeLessThan(5);
  expect(end).toMatchObject({ state: "complete", rows: 9 });
});

test("a shown table is reported with its first rows", async () => {
  expect(await run(["S", "(R)", "E"], "marker", () => undefined)).toMatchObject({
    state: "complete",
    rowsAtFirst: 1,
  });
  expect(await run(["S", "E"], "marker", () => undefined)).toMatchObject({ rowsAtFirst: 0 });
});

test("a schema does not wait long for rows", async () => {
  const opening = run(["S", "stall"], "marker", () => undefined, 10);
  expect(await opening).toMatchObject({ state: "cancelled", rowsAtFirst: 0 });
});

test("a shown stream that breaks before its first row opens, and then fails", async () => {
  expect(await run(["S", new TypeError("reset")], "marker", () => undefined)).toMatchObject({
    state: "failed",
    rowsAtFirst: 0,
    error: { code: "network_error" },
  });
});

test("first rows that are never painted do not delay reading for long", async () => {
  const end = await run(["S(R)", "(R)E"], "marker", () => undefined);
  expect(end).toMatchObject({ state: "complete", rows: 2 });
});
