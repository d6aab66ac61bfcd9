import { cancelledError } from "../model/errors.js";
import type { Notices, Requests, SlotPriority } from "../rpc/messages.js";
import type { ConnectionPool, ConnectionSlot } from "./connection-pool.js";

/** Answers a worker's {@link PoolClient} in the page: the connections of one table. */
export class PoolServer {
  readonly #pool: ConnectionPool | undefined;
  readonly #send: (message: Requests["slot"]["params"]) => void;
  readonly #slots = new Map<number, ConnectionSlot>();
  /** Ends the wait for the first slot. */
  #stopWaiting = () => {};

  /** @param pool the connections; undefined if there are none */
  constructor(
    pool: ConnectionPool | undefined,
    send: (message: Requests["slot"]["params"]) => void,
  ) {
    this.#pool = pool;
    this.#send = send;
  }

  /** Waits for the first slot, which the worker has from the beginning; rejects when closed. */
  requestFirst(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(cancelledError());
      const stop = () => this.close();
      this.#stopWaiting = () => {
        signal?.removeEventListener("abort", stop);
        reject(cancelledError());
      };
      signal?.addEventListener("abort", stop);
      const granted = () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      if (this.#pool === undefined) granted();
      else this.#request(0, "stream", false, granted);
    });
  }

  /** Takes the worker's message about a slot. */
  receive({ slot, action, priority = "stream", hasRows = false }: Notices["slot"]): void {
    switch (action) {
      case "request":
        this.#request(slot, priority, hasRows, () => this.#send({ slot, action: "grant" }));
        break;
      case "allowYield":
        this.#slots.get(slot)?.allowYield();
        break;
      case "release":
        this.#slots.get(slot)?.release();
        this.#slots.delete(slot);
        break;
    }
  }

  /** The worker has released all slots, or is about to. */
  close(): void {
    for (const slot of this.#slots.values()) slot.release();
    this.#slots.clear();
    this.#stopWaiting();
  }

  #request(slot: number, priority: SlotPriority, hasRows: boolean, onGrant: () => void): void {
    const onYield = () => this.#send({ slot, action: "yield" });
    const requested = this.#pool?.request({ priority, hasRows, onGrant, onYield });
    if (requested !== undefined) this.#slots.set(slot, requested);
  }
}
