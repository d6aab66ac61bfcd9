import { PoolClient } from "../http/pool-client.js";
import { type ColonnadeError, noRows } from "../model/errors.js";
import type { RawColumn } from "../model/raw-column.js";
import type { Endpoint } from "../rpc/endpoint.js";
import type { Notices } from "../rpc/messages.js";
import { Responder } from "../rpc/responder.js";
import { loadDecoder } from "./decoder-module.js";
import type { Kernels } from "./kernels.js";
import { RETRY_POLICY } from "./reconnector.js";
import { TableStream } from "./table-stream.js";
import type { WindowedTable } from "./windowed-table.js";

/** The answer to a request without a result. */
const DONE = { result: null };

/** Serves one table through `endpoint`. The returned function stops it and frees the rows. */
export function serve(endpoint: Endpoint): () => void {
  let stream: TableStream | undefined;
  const pool = new PoolClient((notice) => responder.notify("slot", notice));

  const responder = new Responder(endpoint, {
    open: async ({ source, memoryBytes, wasm, isShown }) => {
      const notify = <N extends keyof Notices>(name: N, data: Notices[N]) =>
        responder.notify(name, data);
      stream = new TableStream(source, notify, RETRY_POLICY, pool);
      const onCrash = (error: ColonnadeError) => responder.notify("crash", error.toJSON());
      return { result: await stream.open(loadDecoder(memoryBytes, wasm, onCrash), isShown) };
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
      const report = (fraction: number) => responder.notify("job", { job, fraction });
      const read = rows();
      try {
        return { result: await read.run(work, signal, report) };
      } catch (thrown) {
        // If the table became windowed meanwhile, the server does the work, or its error says what to do.
        if (signal.aborted || read === rows()) throw thrown;
        return { result: await rows().run(work, signal, report) };
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
      return DONE;
    },
    reach: async ({ end }, signal) => ({
      result: (await stream?.windowed?.reach(end, signal)) ?? 0,
    }),
    stop: () => {
      stream?.stop();
      return DONE;
    },
    painted: () => {
      stream?.painted();
      return DONE;
    },
    retryNow: () => {
      stream?.retryNow();
      return DONE;
    },
    resume: () => {
      void stream?.resume();
      return DONE;
    },
    grow: ({ memoryBytes }) => {
      stream?.grow(memoryBytes);
      return DONE;
    },
    slot: (message) => {
      pool.receive(message);
      return DONE;
    },
  });

  function rows(): Kernels | WindowedTable {
    if (stream?.rows === undefined) {
      throw noRows();
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
