import { askRecord } from "../query.js";
import type { Table } from "../table.js";

/** How often the server is asked how far an engine elsewhere is. */
const PERIOD_MS = 1000;

/** How far the engine is that computes a table's rows, where their number is not known before. */
export class EngineProgress {
  #part: number | undefined;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** The part of its tasks that is done, from 0 to 1; undefined where no engine says. */
  get part(): number | undefined {
    return this.#part;
  }

  /** Asks while rows arrive, unless the server answers for them itself. */
  async follow(table: Table, signal: AbortSignal): Promise<void> {
    this.#part = undefined;
    const { request } = table;
    const query = request?.query;
    if (request === undefined || query === undefined) return;
    const isOpen = () =>
      !signal.aborted && table.state === "streaming" && table.progress.totalRows === undefined;
    while (isOpen()) {
      await new Promise((resolve) => setTimeout(resolve, PERIOD_MS));
      if (!isOpen()) return;
      try {
        const record = await askRecord(request, query, signal, table.fetch);
        if (record?.order && record.engine === undefined) return;
        const { tasks = 0, tasks_done: done = 0 } = record?.engine ?? {};
        if (tasks === 0 || !isOpen()) continue;
        this.#part = Math.min(1, done / tasks);
        this.#onChange();
      } catch {
        // The stream itself says what is wrong.
      }
    }
  }
}
