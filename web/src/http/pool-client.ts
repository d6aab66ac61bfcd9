import { cancelledError } from "../model/errors.js";
import type { Lane, Notices, Requests } from "../rpc/messages.js";

/** A connection that the page lets this thread open. */
export interface GatePlace {
  /** Aborts when another should have it. */
  readonly wanted: AbortSignal;
  /** Rows are there, and the others can be had later. */
  offer(): void;
  /** The connection is closed. */
  leave(): void;
}

interface Waiting {
  go(): void;
  wanted: AbortController;
}

/**
 * Asks the page for the connections of one table. Number 0 comes with the request to open it; without
 * a page to ask, all are there at once.
 */
export class Gate {
  readonly #tell: ((notice: Notices["place"]) => void) | undefined;
  readonly #places = new Map<number, Waiting>();
  #nextPlace = 0;

  constructor(tell?: (notice: Notices["place"]) => void) {
    this.#tell = tell;
  }

  /** The place that the page has given already. */
  first(): GatePlace {
    return this.#make(() => undefined);
  }

  /** Waits for a place; rejects when `signal` aborts. */
  take(lane: Lane, hasRows: boolean, signal: AbortSignal): Promise<GatePlace> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(cancelledError());
      const stop = () => {
        made.leave();
        reject(cancelledError());
      };
      const place = this.#nextPlace;
      const made = this.#make(() => {
        signal.removeEventListener("abort", stop);
        resolve(made);
      });
      signal.addEventListener("abort", stop, { once: true });
      if (this.#tell === undefined) this.hear({ place, word: "go" });
      else this.#tell({ place, word: "want", lane, hasRows });
    });
  }

  /** What the page says of a place. */
  hear({ place, word }: Requests["place"]["params"]): void {
    const waiting = this.#places.get(place);
    if (word === "go") waiting?.go();
    else waiting?.wanted.abort();
  }

  #make(go: () => void): GatePlace {
    const place = this.#nextPlace++;
    const wanted = new AbortController();
    this.#places.set(place, { go, wanted });
    return {
      wanted: wanted.signal,
      offer: () => {
        if (this.#places.has(place)) this.#tell?.({ place, word: "offer" });
      },
      leave: () => {
        if (this.#places.delete(place)) this.#tell?.({ place, word: "leave" });
      },
    };
  }
}
