import { PoolClient } from "../http/pool-client.js";
import { type ColonnadeError, noRows } from "../model/errors.js";
import type { Endpoint } from "../rpc/endpoint.js";
import type { Notices, Requests } from "../rpc/messages.js";
import { Responder } from "../rpc/responder.js";
import { loadDecoder } from "./decoder-module.js";
import type { Kernels } from "./kernels.js";
import { RETRY_POLICY } from "./reconnector.js";
import { DONE, rowHandlers } from "./row-handlers.js";
import { TableStream } from "./table-stream.js";
import type { WindowedTable } from "./windowed-table.js";

/** Serves one table through `endpoint`. The returned function stops it and frees the rows. */
export function serve(endpoint: Endpoint): () => void {
  let stream: TableStream | undefined;
  let setModule: (wasm: Requests["module"]["params"]["wasm"]) => void = () => undefined;
  const module = new Promise<Requests["module"]["params"]["wasm"]>((resolve) => {
    setModule = resolve;
  });
  const pool = new PoolClient((notice) => responder.notify("slot", notice));

  const responder = new Responder(endpoint, {
    open: async ({ source, memoryBytes, firstCells }) => {
      const notify = <N extends keyof Notices>(name: N, data: Notices[N]) =>
        responder.notify(name, data);
      stream = new TableStream(source, notify, RETRY_POLICY, pool);
      const onCrash = (error: ColonnadeError) => responder.notify("crash", error.toJSON());
      const decoder = module.then((wasm) => loadDecoder(memoryBytes, wasm, onCrash));
      const result = await stream.open(decoder, firstCells, memoryBytes);
      return { result, transfer: result.firstCells ? [result.firstCells.buffer] : [] };
    },
    module: ({ wasm }) => {
      setModule(wasm);
      return DONE;
    },
    ...rowHandlers(rows, (name, data) => responder.notify(name, data)),
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
