import { ColonnadeError } from "colonnade";
import { fetchQueries, type QueryRecord } from "./queries.js";

/** How often the results are asked for while they are looked at, in ms. */
const POLL_MS = 1000;

/** The server's results, read anew as long as somebody looks at them. */
export class QueriesWatch {
  readonly #onChange: () => void;
  #abort: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Undefined until they were read once. */
  records: readonly QueryRecord[] | undefined;
  /** Why they could not be read the last time. */
  error: ColonnadeError | undefined;

  /** @param onChange told after each reading */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  start(): void {
    this.stop();
    this.#abort = new AbortController();
    void this.#read(this.#abort.signal);
  }

  stop(): void {
    this.#abort?.abort();
    clearTimeout(this.#timer);
    this.#abort = undefined;
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      // A page out of sight asks nothing.
      if (!document.hidden) {
        this.records = await fetchQueries(signal);
        this.error = undefined;
      }
    } catch (thrown) {
      if (!signal.aborted) this.error = ColonnadeError.from(thrown, "http_error");
    }
    if (signal.aborted) return;
    this.#onChange();
    this.#timer = setTimeout(() => void this.#read(signal), POLL_MS);
  }
}
