import { ColonnadeError } from "colonnade";
import { fetchQueries, type QueryRecord } from "./queries.js";

/** The interval between readings of the results, in ms. */
const POLL_MS = 1000;

/** Polls the server's results while the panel is open. */
export class QueriesWatch {
  readonly #onChange: () => void;
  #abort: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Undefined until the results were read once. */
  records: readonly QueryRecord[] | undefined;
  /** The error of the last reading. */
  error: ColonnadeError | undefined;

  /** @param onChange called after each reading */
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
      // A hidden page sends no requests.
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
