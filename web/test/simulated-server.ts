import { ReplayServer } from "./replay.js";

/** How the server answers: each is a probability, or a longest time in ms. */
export interface Weather {
  /** A request finds no server. */
  unreachable: number;
  /** A request for rows gets 503. */
  refused: number;
  /** A body fails before its end. */
  cut: number;
  /** A body ends before its end-of-stream marker. */
  ended: number;
  /** A body stops, and its connection stays open. */
  stalled: number;
  /** All bytes arrive, and the body does not end. */
  openEnd: number;
  /** The server restarts while it sends a body: it loses all results, and all connections are cut. */
  restarted: number;
  /** Before the headers, and between two pieces. */
  delayMs: number;
}

export const FAIR: Weather = {
  unreachable: 0,
  refused: 0,
  cut: 0,
  ended: 0,
  stalled: 0,
  openEnd: 0,
  restarted: 0,
  delayMs: 20,
};

interface Result {
  /** Which rows the first request allows. */
  offset: number;
  end: number;
}

/**
 * A Colonnade server behind a `fetch` of its own, without sockets: the table of `fixtures/numbered.arrows`,
 * whose batches have 10 rows. What goes wrong is drawn from `random`.
 */
export class SimulatedServer {
  weather = FAIR;
  /** Requests that a client of a real server must not send. */
  readonly wrongs: string[] = [];
  readonly #stream = new ReplayServer();
  readonly #results = new Map<string, Result>();
  /** Cuts each open body. */
  readonly #open = new Set<() => void>();
  readonly #random: () => number;
  readonly #order: "partition" | "none";
  readonly #holdsBack: boolean;

  constructor(random: () => number, order: "partition" | "none", holdsBack: boolean) {
    this.#random = random;
    this.#order = order;
    this.#holdsBack = holdsBack;
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const signal = init.signal as AbortSignal;
    await this.#delay();
    signal.throwIfAborted();
    if (this.#happens("unreachable")) throw new TypeError("fetch failed");
    const { pathname, searchParams } = new URL(url);
    const { body } = init;
    const given: Record<string, unknown> =
      body instanceof ArrayBuffer
        ? JSON.parse(new TextDecoder().decode(body))
        : Object.fromEntries(searchParams);
    const byId = /\/v1\/query\/([^/]+)(\/rows)?$/.exec(pathname);
    if (byId !== null && byId[2] === undefined) return this.#record(byId[1] ?? "");
    if (this.#happens("refused")) return refusal(503, "busy");
    const offset = Number(given.offset ?? 0);
    const end = Math.min(300, offset + Number(given.limit ?? 300));
    const id = byId?.[1] ?? String(given.id);
    const known = this.#results.get(id);
    if (byId !== null && known === undefined) return refusal(404, "unknown_query");
    if (known === undefined) {
      this.#results.set(id, { offset, end });
    } else if (byId === null && end > known.end) {
      return refusal(409, "id_in_use");
    }
    if (new Headers(init.headers).get("prefer") === "return=minimal") {
      return new Response(null, { status: 204, headers: { "x-result-order": this.#order } });
    }
    return this.#rows(offset, Math.min(end, known?.end ?? end), signal);
  };

  /** Forgets all results and cuts all connections. */
  restart(): void {
    this.#results.clear();
    for (const cut of [...this.#open]) cut();
  }

  /** The number of responses whose bodies are open. */
  get numOpen(): number {
    return this.#open.size;
  }

  #record(id: string): Response {
    const result = this.#results.get(id);
    if (result === undefined) return refusal(404, "unknown_query");
    const isDone = this.#random() < 0.5;
    return Response.json({
      state: isDone ? "done" : "running",
      rows: isDone ? result.end : null,
      rows_ready: Math.min(result.end, 100),
    });
  }

  #rows(offset: number, end: number, signal: AbortSignal): Response {
    if (offset % 10 !== 0) this.wrongs.push(`rows from ${offset}`);
    // A batch is not divided.
    const bytes = this.#stream.body(offset, Math.ceil(end / 10) * 10);
    const kinds = ["cut", "ended", "stalled", "openEnd", "restarted"] as const;
    const ending = kinds.find((kind) => this.#happens(kind));
    const pieces = this.#pieces(bytes, ending);
    let lose: (reason: unknown) => void = () => undefined;
    const lost = new Promise<never>((_, reject) => {
      lose = reject;
    });
    lost.catch(() => undefined);
    const cut = () => close(new TypeError("network error"));
    const abort = () => close(signal.reason);
    const close = (reason?: unknown) => {
      if (this.#open.delete(cut)) signal.removeEventListener("abort", abort);
      if (reason !== undefined) lose(reason);
    };
    this.#open.add(cut);
    signal.addEventListener("abort", abort);
    const source = {
      pull: async (controller: ReadableStreamController<Uint8Array<ArrayBuffer>>) => {
        try {
          const { value, done } = await Promise.race([pieces.next(), lost]);
          if (done !== true) return (controller as ReadableStreamDefaultController).enqueue(value);
        } catch (thrown) {
          close();
          throw thrown;
        }
        close();
        controller.close();
        // The reader may wait with a buffer of its own.
        if ("byobRequest" in controller) controller.byobRequest?.respond(0);
      },
      // Firefox keeps the connection of a cancelled body until its request is aborted.
      cancel: () => undefined,
    };
    const stream = this.#holdsBack
      ? new ReadableStream({ ...source, type: "bytes" })
      : new ReadableStream(source, { highWaterMark: 0 });
    return new Response(stream, {
      headers: {
        "content-type": "application/vnd.apache.arrow.stream",
        "x-query-id": "whatever",
        "x-result-order": this.#order,
      },
    });
  }

  async *#pieces(bytes: Buffer, ending?: keyof Weather): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const isWhole = ending === undefined || ending === "openEnd";
    const length = isWhole ? bytes.length : Math.floor(this.#random() * bytes.length);
    for (let at = 0; at < length; ) {
      await this.#delay();
      const size = 1 + Math.floor(this.#random() ** 3 * 20_000);
      yield new Uint8Array(bytes.subarray(at, Math.min(length, at + size)));
      at += size;
    }
    await this.#delay();
    if (ending === "restarted") this.restart();
    if (ending === "cut") throw new TypeError("network error");
    if (ending === "stalled" || ending === "openEnd") await new Promise(() => undefined);
  }

  #happens(name: Exclude<keyof Weather, "delayMs">): boolean {
    return this.#random() < this.weather[name];
  }

  #delay(): Promise<void> {
    const ms = Math.ceil(this.#random() ** 2 * this.weather.delayMs);
    return new Promise((resolve) => setTimeout(resolve, ms));
  }
}

function refusal(status: number, code: string): Response {
  return Response.json({ code, title: code, detail: code }, { status });
}
