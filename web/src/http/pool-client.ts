import { cancelledError } from "../model/errors.js";
import type { Notices, Requests, SlotPriority } from "../rpc/messages.js";

/** A connection that the page lets this thread open. */
export interface ClientSlot {
  /** Aborts when another request should have the connection. */
  readonly yielding: AbortSignal;
  /** Rows have arrived, and the others can be requested later. */
  allowYield(): void;
  /** The connection is closed. */
  release(): void;
}

interface Waiting {
  grant(): void;
  yielding: AbortController;
}

/**
 * Requests the connections of one table from the page. Slot 0 is granted with the request to open the
 * table. Without a page, every request is granted at once.
 */
export class PoolClient {
  readonly #notify: ((notice: Notices["slot"]) => void) | undefined;
  readonly #slots = new Map<number, Waiting>();
  #nextSlot = 0;

  constructor(notify?: (notice: Notices["slot"]) => void) {
    this.#notify = notify;
  }

  /** The slot that the page has granted already. */
  firstSlot(): ClientSlot {
    return this.#make(() => undefined);
  }

  /** Waits for a slot; rejects when `signal` aborts. */
  request(priority: SlotPriority, hasRows: boolean, signal: AbortSignal): Promise<ClientSlot> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(cancelledError());
      const stop = () => {
        made.release();
        reject(cancelledError());
      };
      const slot = this.#nextSlot;
      const made = this.#make(() => {
        signal.removeEventListener("abort", stop);
        resolve(made);
      });
      signal.addEventListener("abort", stop, { once: true });
      if (this.#notify === undefined) this.receive({ slot, action: "grant" });
      else this.#notify({ slot, action: "request", priority, hasRows });
    });
  }

  /** Takes the page's message about a slot. */
  receive({ slot, action }: Requests["slot"]["params"]): void {
    const waiting = this.#slots.get(slot);
    if (action === "grant") waiting?.grant();
    else waiting?.yielding.abort();
  }

  #make(grant: () => void): ClientSlot {
    const slot = this.#nextSlot++;
    const yielding = new AbortController();
    this.#slots.set(slot, { grant, yielding });
    return {
      yielding: yielding.signal,
      allowYield: () => {
        if (this.#slots.has(slot)) this.#notify?.({ slot, action: "allowYield" });
      },
      release: () => {
        if (this.#slots.delete(slot)) this.#notify?.({ slot, action: "release" });
      },
    };
  }
}
