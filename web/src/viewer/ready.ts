import type { Table } from "../api/table.js";

/** The promise of a table, renewed when another table is opened after the last one was, or could not be. */
export class Ready {
  #awaited = awaitedTable();
  #isSettled = false;

  /** The promise as it is after `change`. */
  after(change: Promise<unknown>): Promise<Table> {
    const promise = change.then(() => this.#awaited.promise);
    promise.catch(() => undefined);
    return promise;
  }

  resolve(table: Table): void {
    this.#isSettled = true;
    this.#awaited.resolve(table);
  }

  reject(error: Error): void {
    this.#isSettled = true;
    this.#awaited.reject(error);
  }

  /** Promises another table. Callers that still wait for a former one wait for this one. */
  begin(): void {
    if (!this.#isSettled) return;
    this.#isSettled = false;
    this.#awaited = awaitedTable();
  }
}

/** Not `Promise.withResolvers`, because the element reports a browser without it. */
function awaitedTable(): PromiseWithResolvers<Table> {
  const awaited = {} as PromiseWithResolvers<Table>;
  awaited.promise = new Promise((resolve, reject) => Object.assign(awaited, { resolve, reject }));
  // Prevents unhandled rejections if nobody awaits the promise.
  awaited.promise.catch(() => undefined);
  return awaited;
}
