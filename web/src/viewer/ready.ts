import type { Table } from "../api/table.js";
import { cancelledError } from "../model/errors.js";

/** The promise of a table, renewed whenever another table is opened. */
export class Ready {
  #awaited = quiet(Promise.withResolvers<Table>());

  get promise(): Promise<Table> {
    return this.#awaited.promise;
  }

  resolve(table: Table): void {
    this.#awaited.resolve(table);
  }

  reject(error: Error): void {
    this.#awaited.reject(error);
  }

  /** Promises another table; callers that still wait for this one are rejected. */
  begin(): void {
    this.reject(cancelledError());
    this.#awaited = quiet(Promise.withResolvers<Table>());
  }
}

/** Prevents unhandled rejections if nobody awaits the promise. */
function quiet(awaited: PromiseWithResolvers<Table>): PromiseWithResolvers<Table> {
  awaited.promise.catch(() => undefined);
  return awaited;
}
