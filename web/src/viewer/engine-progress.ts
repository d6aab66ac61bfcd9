import type { Table } from "../api/table.js";

/** Rows that are all there sooner need no progress. */
const MIN_WAIT_MS = 1000;

/** How far the engine is that computes a table's rows, where their number is not known before. */
export class EngineProgress {
  /** The fraction of its tasks that is done, from 0 to 1; undefined where no engine reports it. */
  part: number | undefined;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Fetches progress while rows arrive. */
  async follow(table: Table, signal: AbortSignal): Promise<void> {
    this.part = undefined;
    await new Promise((resolve) => setTimeout(resolve, MIN_WAIT_MS));
    if (signal.aborted || table.state !== "streaming") return;
    // Without a server to load it from there is no progress either.
    const late = await import("./engine-record.js").catch(() => undefined);
    await late?.followEngine(table, signal, (part) => {
      this.part = part;
      this.#onChange();
    });
  }
}
