import {
  addressOf,
  isSameArrangement,
  isSameSubject,
  type Place,
  placeIn,
  placeOf,
  type RowsState,
  type Subject,
  type View,
} from "./address.js";

/** How long small changes are collected before the address says them, in ms. */
const SETTLE_MS = 250;

/** Told of a place that is come to. */
export interface NavigationHost {
  /**
   * @param isAgain whether the rows are to be asked for anew, even if they are those that are shown
   * @param statement the tab that the place was left from, where the browser knows
   */
  arrive(place: Place, isAgain: boolean, statement: number | undefined): void;
}

/** The page's place and the browser's address and history, which say the same. */
export class Navigation {
  readonly #host: NavigationHost;
  #place: Place = placeIn(location.search);
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onPopState = () => {
    this.#drop();
    const before = this.#place;
    this.#place = placeIn(location.search);
    this.#host.arrive(this.#place, !isSameSubject(before.subject, this.#place.subject), tabNow());
  };

  constructor(host: NavigationHost) {
    this.#host = host;
  }

  get place(): Place {
    return this.#place;
  }

  /** Begins to follow the browser's buttons. */
  start(): void {
    addEventListener("popstate", this.#onPopState);
    this.#host.arrive(this.#place, true, tabNow());
  }

  stop(): void {
    removeEventListener("popstate", this.#onPopState);
    this.#drop();
  }

  /** Goes to a subject as it is first seen; its rows are asked for anew. */
  go(subject: Subject, { view, statement }: { view?: View; statement?: number } = {}): void {
    this.flush();
    this.#move(placeOf(subject, view), statement);
    this.#host.arrive(this.#place, true, statement);
  }

  /** Shows another side of the subject. */
  turn(view: View): void {
    this.flush();
    this.#move({ ...this.#place, view }, tabNow());
    this.#host.arrive(this.#place, false, tabNow());
  }

  /**
   * Takes note of how rows are shown now. Another order or filter is a step of the history, but not
   * where the place's own was refused.
   */
  note(change: { state?: RowsState; chart?: string | undefined }, isRefusal = false): void {
    const before = this.#place;
    const after = { ...before, ...change };
    const isStep = !isRefusal && !isSameArrangement(before.state, after.state);
    if (isStep) {
      this.flush();
      this.#move(after, tabNow());
      return;
    }
    this.#place = after;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), SETTLE_MS);
  }

  /** Has the address say at once what was noted. */
  flush(): void {
    if (this.#timer === undefined) return;
    this.#drop();
    history.replaceState(history.state, "", addressOf(this.#place));
  }

  #move(place: Place, statement: number | undefined): void {
    const address = addressOf(place);
    const isSame = address === location.pathname + location.search && statement === tabNow();
    if (!isSame) history.pushState({ statement }, "", address);
    this.#place = place;
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

function tabNow(): number | undefined {
  const state = history.state as { statement?: number } | null;
  return state?.statement;
}
