import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { type Endpoint, Responder } from "./actor.js";
import { BodyDecoder } from "./decoder.js";
import { ColonnadeError } from "./errors.js";
import type { Kernels } from "./kernels.js";
import { TableStream } from "./stream.js";
import type { WindowedRows } from "./windowed.js";

let stream: TableStream | undefined;

const responder = new Responder(globalThis as unknown as Endpoint, {
  open: async ({ source, memoryBytes, wasmUrl }) => {
    stream = new TableStream(source, (name, data) => responder.notify(name, data));
    return { result: await stream.open(makeDecoder(memoryBytes, wasmUrl)) };
  },
  window: async ({ view, start, end, columns, maxChars }, signal) => {
    const result = await rows().window(view, start, end, columns, maxChars, signal);
    return { result, transfer: [result.buffer] };
  },
  values: async ({ view, column, start, end }, signal) => {
    const result = await rows().values(view, column, start, end, signal);
    const transfer = result === null ? [] : [result.bytes.buffer, result.validity.buffer];
    return { result, transfer };
  },
  run: async ({ job, work }, signal) => {
    const tell = (fraction: number) => responder.notify("job", { job, fraction });
    return { result: await rows().run(work, signal, tell) };
  },
  rowNumbers: ({ view, start, end }) => {
    const result = rows().rowNumbers(view, start, end);
    return { result, transfer: [result.buffer] };
  },
  stream: async (_, signal) => {
    const result = await rows().stream(signal);
    return { result, transfer: result.map(({ buffer }) => buffer) };
  },
  release: ({ view }) => {
    stream?.rows?.release(view);
    return { result: null };
  },
  reach: async ({ end }, signal) => ({ result: (await stream?.windowed?.reach(end, signal)) ?? 0 }),
  stop: () => {
    stream?.stop();
    return { result: null };
  },
  hurry: () => {
    stream?.hurry();
    return { result: null };
  },
  resume: () => {
    void stream?.resume();
    return { result: null };
  },
  grow: ({ memoryBytes }) => {
    stream?.grow(memoryBytes);
    return { result: null };
  },
});

function rows(): Kernels | WindowedRows {
  if (stream?.rows === undefined) {
    throw new ColonnadeError("no_rows", "There is nothing to read yet.");
  }
  return stream.rows;
}

async function makeDecoder(memoryBytes: number, wasmUrl: string | undefined): Promise<BodyDecoder> {
  // Bundlers know this expression and place the file; this package's own build leaves it alone.
  const url = wasmUrl ?? new URL(/* @vite-ignore */ "./colonnade.wasm", import.meta.url);
  try {
    const { memory } = await init({ module_or_path: await fetch(url) });
    return new BodyDecoder(new Decoder(memoryBytes), memory);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError("wasm_unavailable", `Could not load ${url}: ${reason}`, {
      hint: "Serve colonnade.wasm beside worker.js, or name it with wasm-src; a content security policy must allow 'wasm-unsafe-eval'.",
    });
  }
}
