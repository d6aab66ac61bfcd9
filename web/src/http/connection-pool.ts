import type { Lane } from "../rpc/messages.js";

/** How many connections may be open at once. */
export interface PlaceLimits {
  streams: number;
  /** Blocks and questions together; one of them is never a question. */
  others: number;
}

/** Who wants a connection. */
export interface PlaceWish {
  lane: Lane;
  /**
   * Some of its rows are there already, so that others' first rows come before it. For a question:
   * nobody asked for the answer, so that a search comes before it.
   */
  hasRows: boolean;
  /** The connection may be opened. */
  onGo(): void;
  /** Others wait: the place should be left soon, and may be asked for again. */
  onYield(): void;
}

/** How long a stream may read on, once it has a place, before it makes room for others' first rows. */
const MIN_HOLD_MS = 250;

/** One wish: waits, holds a place, or has left. */
export class Place {
  readonly wish: PlaceWish;
  /** When it was given, as `performance.now()` counts; undefined while it waits. */
  sinceMs: number | undefined;
  canYield: boolean;
  isYielding = false;
  readonly #places: Places;

  /** @internal */
  constructor(places: Places, wish: PlaceWish) {
    this.#places = places;
    this.wish = wish;
    this.canYield = wish.hasRows && wish.lane !== "block";
  }

  /** Its first rows are there, and the others can be had later: it may be asked to yield. */
  offer(): void {
    this.canYield = true;
    this.#places.pump();
  }

  /** The connection is closed, or not wanted any more. */
  leave(): void {
    this.#places.remove(this);
  }
}

/**
 * The connections of a page to one origin: at most so many at once, the others wait. Who has no rows
 * yet comes first, also before a stream that can go on later.
 */
export class Places {
  readonly #limits: () => PlaceLimits;
  /** In the order in which they came: those that hold a place, and those that wait. */
  readonly #all = new Set<Place>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(limits: () => PlaceLimits) {
    this.#limits = limits;
  }

  /** Asks for a place; where there is one, `onGo` is called at once. */
  ask(wish: PlaceWish): Place {
    const place = new Place(this, wish);
    this.#all.add(place);
    this.pump();
    return place;
  }

  /** @internal */
  remove(place: Place): void {
    if (this.#all.delete(place)) this.pump();
  }

  /** Gives out what is free. To be called when the limits are others. */
  pump(): void {
    const waiting = [...this.#all].filter(({ sinceMs }) => sinceMs === undefined);
    const first = waiting.filter(({ wish }) => !wish.hasRows);
    for (const place of [...first, ...waiting.filter(({ wish }) => wish.hasRows)]) {
      if (!this.#hasRoom(place.wish.lane)) continue;
      place.sinceMs = performance.now();
      place.wish.onGo();
    }
    const late = first.filter(({ sinceMs }) => sinceMs === undefined);
    const numLate = (lane: Lane) => late.filter(({ wish }) => wish.lane === lane).length;
    if (numLate("question") > 0) this.#interruptQuestion();
    this.#makeRoom(numLate("stream"));
  }

  #hasRoom(lane: Lane): boolean {
    const { streams, others } = this.#limits();
    if (lane === "stream") return this.#held("stream").length < streams;
    const numQuestions = this.#held("question").length;
    if (lane === "question" && numQuestions >= Math.max(1, others - 1)) return false;
    return this.#held("block").length + numQuestions < others;
  }

  #held(lane: Lane): Place[] {
    return [...this.#all].filter(
      ({ sinceMs, wish }) => sinceMs !== undefined && wish.lane === lane,
    );
  }

  /** Asks a question that is not urgent to yield, where none does already. */
  #interruptQuestion(): void {
    const held = this.#held("question");
    const place = held.find(({ canYield }) => canYield);
    if (place === undefined || held.some(({ isYielding }) => isYielding)) return;
    place.isYielding = true;
    place.wish.onYield();
  }

  /** Asks streams to yield: those above the limit, and for `numFirst` that have no rows yet. */
  #makeRoom(numFirst: number): void {
    clearTimeout(this.#timer);
    const held = this.#held("stream");
    const numAbove = Math.max(0, held.length - this.#limits().streams);
    let numLeft = numAbove + numFirst - held.filter(({ isYielding }) => isYielding).length;
    for (const place of held.filter(({ canYield, isYielding }) => canYield && !isYielding)) {
      if (numLeft <= 0) return;
      const waitMs = (place.sinceMs ?? 0) + MIN_HOLD_MS - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pump(), waitMs);
        return;
      }
      numLeft--;
      place.isYielding = true;
      place.wish.onYield();
    }
  }
}
