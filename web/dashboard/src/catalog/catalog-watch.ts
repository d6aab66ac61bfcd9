import { ColonnadeError } from "colonnade";
import { type CatalogTable, fetchCatalog } from "./catalog.js";

/** How often the list is looked at while the page can be seen, in ms. */
const POLL_MS = 5000;

/** The list of tables, kept as the server has it: an unchanged one is answered by 304. */
export class CatalogWatch {
  readonly #onChange: () => void;
  #tables: readonly CatalogTable[] | undefined;
  #error: ColonnadeError | undefined;
  #etag: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #reading: Promise<void> | undefined;
  readonly #onVisible = () => {
    if (document.visibilityState === "visible") void this.read();
  };

  /** @param onChange told when the list, or why there is none, is another */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Undefined while it is being read. */
  get tables(): readonly CatalogTable[] | undefined {
    return this.#tables;
  }

  /** Why there is no list; a list that was read before is still the best there is. */
  get error(): ColonnadeError | undefined {
    return this.#tables === undefined ? this.#error : undefined;
  }

  start(): void {
    document.addEventListener("visibilitychange", this.#onVisible);
    this.#timer = setInterval(this.#onVisible, POLL_MS);
    void this.read();
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.#onVisible);
    clearInterval(this.#timer);
  }

  /** Reads the list now. */
  read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    try {
      const answer = await fetchCatalog(this.#etag);
      if (answer === undefined) return;
      this.#tables = answer.tables;
      this.#etag = answer.etag;
      this.#error = undefined;
    } catch (thrown) {
      const error = ColonnadeError.from(thrown, "http_error");
      if (error.code === this.#error?.code) return;
      this.#error = error;
    }
    this.#onChange();
  }
}
