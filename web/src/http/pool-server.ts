import { cancelledError } from "../model/errors.js";
import type { Notices, Requests } from "../rpc/messages.js";
import type { Place, Places } from "./connection-pool.js";
import { placesOf } from "./origin-pools.js";

/** The connections of one table: speaks for its worker where the page gives them out. */
export class Connections {
  readonly #places: Places | undefined;
  readonly #tell: (word: Requests["place"]["params"]) => void;
  readonly #held = new Map<number, Place>();
  /** Ends the wait for the first one. */
  #giveUp = () => {};

  /** @param url where they go to; undefined where there are none */
  constructor(url: string | undefined, tell: (word: Requests["place"]["params"]) => void) {
    this.#places = url === undefined ? undefined : placesOf(url);
    this.#tell = tell;
  }

  /** Waits for the first one, which the worker has from the beginning; rejects when closed. */
  enter(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(cancelledError());
      const stop = () => this.close();
      this.#giveUp = () => {
        signal?.removeEventListener("abort", stop);
        reject(cancelledError());
      };
      signal?.addEventListener("abort", stop);
      const entered = () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      if (this.#places === undefined) entered();
      else this.#ask(0, "stream", false, entered);
    });
  }

  /** What the worker says. */
  hear({ place, word, lane = "stream", hasRows = false }: Notices["place"]): void {
    switch (word) {
      case "want":
        this.#ask(place, lane, hasRows, () => this.#tell({ place, word: "go" }));
        break;
      case "offer":
        this.#held.get(place)?.offer();
        break;
      case "leave":
        this.#held.get(place)?.leave();
        this.#held.delete(place);
        break;
    }
  }

  /** The worker has let go of all of them, or will at once. */
  close(): void {
    for (const place of this.#held.values()) place.leave();
    this.#held.clear();
    this.#giveUp();
  }

  #ask(place: number, lane: Place["wish"]["lane"], hasRows: boolean, onGo: () => void): void {
    const onYield = () => this.#tell({ place, word: "yield" });
    const held = this.#places?.ask({ lane, hasRows, onGo, onYield });
    if (held !== undefined) this.#held.set(place, held);
  }
}
