import type { SlotPriority } from "../rpc/messages.js";
import { type ConnectionLimits, limitsOf, watchLimits } from "./connection-limits.js";

/** A request for a connection. */
export interface SlotRequest {
  priority: SlotPriority;
  /**
   * Some of its rows have arrived, so requests without rows are granted first. For a question: it is
   * not urgent, so a search is granted first.
   */
  hasRows: boolean;
  /** The connection may be opened. */
  onGrant(): void;
  /** Other requests wait: the slot should be released soon, and may be requested again. */
  onYield(): void;
}

/** How long a stream may read, once it is granted, before it yields to requests without rows. */
const MIN_HOLD_MS = 250;

/** One request: it waits, is granted, or was released. */
export class ConnectionSlot {
  readonly request: SlotRequest;
  /** When it was granted, as `performance.now()` counts; undefined while it waits. */
  grantedMs: number | undefined;
  canYield: boolean;
  isYielding = false;
  readonly #pool: ConnectionPool;

  /** @internal */
  constructor(pool: ConnectionPool, request: SlotRequest) {
    this.#pool = pool;
    this.request = request;
    this.canYield = request.hasRows && request.priority !== "block";
  }

  /** Its first rows have arrived and the others can be requested later, so it may be asked to yield. */
  allowYield(): void {
    this.canYield = true;
    this.#pool.dispatch();
  }

  /** The connection is closed, or no longer wanted. */
  release(): void {
    this.#pool.remove(this);
  }
}

/**
 * The connections of a page to one origin. A limited number is open at once; other requests wait.
 * Requests without rows are granted first; for them, a stream that can be resumed later has to yield.
 */
export class ConnectionPool {
  readonly #limits: () => ConnectionLimits;
  /** Granted and waiting, in the order of the requests. */
  readonly #slots = new Set<ConnectionSlot>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(limits: () => ConnectionLimits) {
    this.#limits = limits;
  }

  /** Requests a slot; if one is free, `onGrant` is called at once. */
  request(request: SlotRequest): ConnectionSlot {
    const slot = new ConnectionSlot(this, request);
    this.#slots.add(slot);
    this.dispatch();
    return slot;
  }

  /** @internal */
  remove(slot: ConnectionSlot): void {
    if (this.#slots.delete(slot)) this.dispatch();
  }

  /** Grants free slots. Call it when the limits change. */
  dispatch(): void {
    const waiting = [...this.#slots].filter(({ grantedMs }) => grantedMs === undefined);
    const first = waiting.filter(({ request }) => !request.hasRows);
    for (const slot of [...first, ...waiting.filter(({ request }) => request.hasRows)]) {
      if (!this.#hasRoom(slot.request.priority)) continue;
      slot.grantedMs = performance.now();
      slot.request.onGrant();
    }
    const left = first.filter(({ grantedMs }) => grantedMs === undefined);
    const numLeft = (priority: SlotPriority) =>
      left.filter(({ request }) => request.priority === priority).length;
    if (numLeft("question") > 0) this.#interruptQuestion();
    this.#makeRoom(numLeft("stream"));
  }

  #hasRoom(priority: SlotPriority): boolean {
    const { streams, others } = this.#limits();
    if (priority === "stream") return this.#granted("stream").length < streams;
    const numQuestions = this.#granted("question").length;
    if (priority === "question" && numQuestions >= Math.max(1, others - 1)) return false;
    return this.#granted("block").length + numQuestions < others;
  }

  #granted(priority: SlotPriority): ConnectionSlot[] {
    return [...this.#slots].filter(
      ({ grantedMs, request }) => grantedMs !== undefined && request.priority === priority,
    );
  }

  /** Asks a question that is not urgent to yield, unless one is yielding already. */
  #interruptQuestion(): void {
    const granted = this.#granted("question");
    const slot = granted.find(({ canYield }) => canYield);
    if (slot === undefined || granted.some(({ isYielding }) => isYielding)) return;
    slot.isYielding = true;
    slot.request.onYield();
  }

  /** Asks streams to yield: those above the limit, and one for each of `numFirst` without rows. */
  #makeRoom(numFirst: number): void {
    clearTimeout(this.#timer);
    const granted = this.#granted("stream");
    const numAbove = Math.max(0, granted.length - this.#limits().streams);
    let numLeft = numAbove + numFirst - granted.filter(({ isYielding }) => isYielding).length;
    for (const slot of granted.filter(({ canYield, isYielding }) => canYield && !isYielding)) {
      if (numLeft <= 0) return;
      const waitMs = (slot.grantedMs ?? 0) + MIN_HOLD_MS - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.dispatch(), waitMs);
        return;
      }
      numLeft--;
      slot.isYielding = true;
      slot.request.onYield();
    }
  }
}

const byOrigin = new Map<string, ConnectionPool>();

/** The connections of this page to the origin of an address. */
export function poolOf(url: string): ConnectionPool {
  if (byOrigin.size === 0) {
    watchLimits(() => {
      for (const pool of byOrigin.values()) pool.dispatch();
    });
  }
  const { origin } = new URL(url);
  const pool = byOrigin.get(origin) ?? new ConnectionPool(() => limitsOf(origin));
  byOrigin.set(origin, pool);
  return pool;
}
