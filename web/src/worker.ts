import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { type Endpoint, Responder } from "./actor.js";
import { BodyDecoder } from "./decoder.js";
import { ColonnadeError } from "./errors.js";
import { Gate } from "./gate.js";
import type { Kernels } from "./kernels.js";
import type { Notices, RawColumn, Requests, WasmModule, WorkerOrder } from "./messages.js";
import { PATIENCE } from "./reconnect.js";
import { TableStream } from "./stream.js";
import type { WindowedRows } from "./windowed.js";

/** Serves one table through `endpoint`; the answer ends that and lets go of the rows. */
export function serve(endpoint: Endpoint): () => void {
  let stream: TableStream | undefined;
  const gate = new Gate((notice) => responder.notify("place", notice));

  const responder = new Responder(endpoint, {
    open: async ({ source, memoryBytes, wasm, isShown }) => {
      const notify = <N extends keyof Notices>(name: N, data: Notices[N]) =>
        responder.notify(name, data);
      stream = new TableStream(source, notify, PATIENCE, gate);
      const onCrash = (error: ColonnadeError) => responder.notify("crash", error.toJSON());
      return { result: await stream.open(makeDecoder(memoryBytes, wasm, onCrash), isShown) };
    },
    window: async ({ view, start, end, columns, maxChars }, signal) => {
      const result = await rows().window(view, start, end, columns, maxChars, signal);
      return { result, transfer: [result.buffer] };
    },
    values: async ({ view, column, start, end }, signal) => {
      const result = await rows().values(view, column, start, end, signal);
      return { result, transfer: buffersOf(result) };
    },
    run: async ({ job, work }, signal) => {
      const tell = (fraction: number) => responder.notify("job", { job, fraction });
      const asked = rows();
      try {
        return { result: await asked.run(work, signal, tell) };
      } catch (thrown) {
        // Work on rows in memory ends when these rows go: the server does it, or says what to do.
        if (signal.aborted || asked === rows()) throw thrown;
        return { result: await rows().run(work, signal, tell) };
      }
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
    reach: async ({ end }, signal) => ({
      result: (await stream?.windowed?.reach(end, signal)) ?? 0,
    }),
    stop: () => {
      stream?.stop();
      return { result: null };
    },
    painted: () => {
      stream?.painted();
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
    place: (word) => {
      gate.hear(word);
      return { result: null };
    },
  });

  function rows(): Kernels | WindowedRows {
    if (stream?.rows === undefined) {
      throw new ColonnadeError("no_rows", "There is nothing to read yet.");
    }
    return stream.rows;
  }

  return () => {
    responder.close();
    stream?.stop();
    stream?.decoder?.free();
  };
}

function buffersOf(column: RawColumn): ArrayBuffer[] {
  switch (column.kind) {
    case "texts":
      return [column.texts.buffer];
    case "repeats":
      return [column.codes.buffer, column.texts.buffer];
    default:
      return [column.bytes.buffer, column.validity.buffer];
  }
}

/** One module for all tables of a thread. */
let loading: ReturnType<typeof init> | undefined;

async function makeDecoder(
  memoryBytes: number,
  wasm: Requests["open"]["params"]["wasm"],
  onCrash: (error: ColonnadeError) => void,
): Promise<BodyDecoder> {
  // Bundlers know this expression and place the file; this package's own build leaves it alone.
  const place = wasm ?? new URL(/* @vite-ignore */ "./colonnade.wasm", import.meta.url).href;
  try {
    loading ??= readModule(place).then(async (module) => {
      const instance = await init({ module_or_path: module });
      Decoder.warmUp();
      return instance;
    });
    const { memory } = await loading;
    return new BodyDecoder(new Decoder(memoryBytes), memory, onCrash);
  } catch (thrown) {
    loading = undefined;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError(
      "wasm_unavailable",
      `Could not load ${typeof place === "string" ? place : "the module"}: ${reason}`,
      {
        hint: "Serve colonnade.wasm beside worker.js, or name it with wasm-src; a content security policy must allow 'wasm-unsafe-eval'.",
      },
    );
  }
}

/** The module, or where its bytes come from; Node's `fetch` knows no files. */
async function readModule(place: string | WasmModule): Promise<Response | WasmModule> {
  if (typeof place !== "string") return place;
  const fs = place.startsWith("file:") ? globalThis.process?.getBuiltinModule?.("fs") : undefined;
  return fs === undefined
    ? fetch(place)
    : new Uint8Array(await fs.promises.readFile(new URL(place)));
}

// In a worker that `open` started; not in a page or worker of another's that imports this file.
const scope = globalThis as unknown as Worker & { document?: unknown; name?: unknown };
if (scope.document === undefined && scope.name === "colonnade") {
  let stop = () => {};
  scope.addEventListener("message", ({ data }: MessageEvent<WorkerOrder>) => {
    stop();
    stop = data === "rest" ? () => {} : serve(data);
  });
  scope.postMessage("ready");
}
