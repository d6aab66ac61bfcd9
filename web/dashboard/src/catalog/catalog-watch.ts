import { ColonnadeError } from "colonnade";
import { type CatalogTable, fetchCatalog, type LeftOutFile } from "./catalog.js";

/** The interval between readings of the list while the page is visible, in ms. */
const POLL_MS = 5000;

/** Polls the list of tables; the server answers 304 while the list is unchanged. */
export class CatalogWatch {
  readonly #onChange: () => void;
  #tables: readonly CatalogTable[] | undefined;
  #leftOut: readonly LeftOutFile[] = [];
  #note: string | undefined;
  #error: ColonnadeError | undefined;
  #etag: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #reading: Promise<void> | undefined;
  readonly #onVisible = () => {
    if (document.visibilityState === "visible") void this.read();
  };

  /** @param onChange called when the list or the error changes */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Undefined until the list was read once. */
  get tables(): readonly CatalogTable[] | undefined {
    return this.#tables;
  }

  /** Files of the served folders that are not tables. */
  get leftOut(): readonly LeftOutFile[] {
    return this.#leftOut;
  }

  /** Why there are no tables, if a remote engine cannot list them. */
  get note(): string | undefined {
    return this.#note;
  }

  /** Why there is no list; undefined as soon as a list was read, even if a later reading failed. */
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

  /** Reads the list now; calls while a reading runs share it. */
  read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    try {
      const response = await fetchCatalog(this.#etag);
      if (response === undefined) return;
      this.#tables = response.tables;
      this.#leftOut = response.left_out ?? [];
      this.#note = response.note;
      this.#etag = response.etag;
      this.#error = undefined;
    } catch (thrown) {
      const error = ColonnadeError.from(thrown, "http_error");
      if (error.code === this.#error?.code) return;
      this.#error = error;
    }
    this.#onChange();
  }
}
