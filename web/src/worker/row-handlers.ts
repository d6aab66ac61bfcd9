import type { RawColumn } from "../model/raw-column.js";
import type { Notices } from "../rpc/messages.js";
import type { Handlers } from "../rpc/responder.js";
import type { Kernels } from "./kernels.js";
import type { WindowedTable } from "./windowed-table.js";

/** The answer to a request without a result. */
export const DONE = { result: null };

/**
 * Handlers of the requests that read, sort, filter, search and summarise rows.
 *
 * @param rows the rows as they are now; throws if there are none yet
 */
export function rowHandlers(
  rows: () => Kernels | WindowedTable,
  notify: (notice: "job", data: Notices["job"]) => void,
) {
  return {
    window: async ({ view, start, end, columns, maxChars }, signal) => {
      await rows().reachPlaces(view, end, signal);
      const result = await rows().window(view, start, end, columns, maxChars, signal);
      return { result, transfer: [result.buffer] };
    },
    values: async ({ view, column, start, end }, signal) => {
      await rows().reachPlaces(view, end, signal);
      const result = await rows().values(view, column, start, end, signal);
      return { result, transfer: buffersOf(result) };
    },
    rowNumbers: async ({ view, start, end }, signal) => {
      await rows().reachPlaces(view, end, signal);
      const result = rows().rowNumbers(view, start, end);
      return { result, transfer: [result.buffer] };
    },
    run: async ({ job, work }, signal) => {
      const report = (fraction: number) => notify("job", { job, fraction });
      const read = rows();
      try {
        return { result: await read.run(work, signal, report) };
      } catch (thrown) {
        // If the table became windowed meanwhile, the server does the work, or its error says what to do.
        if (signal.aborted || read === rows()) throw thrown;
        return { result: await rows().run(work, signal, report) };
      }
    },
    finishSort: async ({ job, view }) => {
      await rows().finishSort(view, (fraction) => notify("job", { job, fraction }));
      return DONE;
    },
    cancelSort: ({ view }) => {
      rows().cancelSort(view);
      return DONE;
    },
    stream: async (_, signal) => {
      const result = await rows().stream(signal);
      return { result, transfer: result.map(({ buffer }) => buffer) };
    },
    release: ({ view }) => {
      rows().release(view);
      return DONE;
    },
  } satisfies Partial<Handlers>;
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
