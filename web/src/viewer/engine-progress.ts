import type { Table } from "../api/table.js";

/** Tables that are complete sooner than this need no progress. */
const MIN_WAIT_MS = 1000;

/** The progress of the remote engine that computes a table's rows, while their number is unknown. */
export class EngineProgress {
  /** The fraction of its tasks that is done, from 0 to 1; undefined if no engine reports it. */
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
    // If the module cannot be loaded, no progress is shown.
    const late = await import("./engine-record.js").catch(() => undefined);
    await late?.followEngine(table, signal, (part) => {
      this.part = part;
      this.#onChange();
    });
  }
}
