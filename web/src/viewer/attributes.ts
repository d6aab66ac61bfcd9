import { LitElement, type PropertyDeclarations } from "lit";
import { DEFAULT_MEMORY_BYTES, type OpenOptions } from "../api/open.js";
import type { TableSource } from "../api/source.js";
import type { Fetch } from "../http/fetch-bridge.js";
import type { SortKey } from "../model/arrangement.js";
import type { Predicate } from "../model/predicate.js";
import { parseBytes } from "./parse.js";
import type { ViewerState, ViewerStateInput } from "./state.js";

/** The attributes of `<colonnade-viewer>`, the properties that override them, and some of its state. */
export abstract class ViewerAttributes extends LitElement {
  static override properties: PropertyDeclarations = {
    src: { type: String },
    theme: { type: String, reflect: true },
    density: { type: String },
    row: { type: Number },
    totalRows: { type: Number, attribute: "total-rows" },
    memory: { type: String },
    credentials: { type: String },
    workerSrc: { type: String, attribute: "worker-src" },
    wasmSrc: { type: String, attribute: "wasm-src" },
    readerSrc: { type: String, attribute: "reader-src" },
    fieldColumns: { type: Boolean, attribute: "field-columns" },
    source: { attribute: false },
    headers: { attribute: false },
    fetch: { attribute: false },
  };

  declare src: string | null;
  declare theme: "auto" | "light" | "dark";
  declare density: "compact" | "normal" | "comfortable";
  declare row: number | null;
  declare totalRows: number | null;
  declare memory: string | null;
  declare credentials: RequestCredentials | null;
  declare workerSrc: string | null;
  declare wasmSrc: string | null;
  declare readerSrc: string | null;
  declare fieldColumns: boolean;
  /**
   * Any source that `open` takes; overrides `src`. Other bytes with the same columns are shown as those before them
   * were, in the same order, with the same filter and columns.
   */
  declare source: TableSource | null;
  /** Headers that the element sends with each of its requests for `src` or `source`. */
  declare headers: HeadersInit | null;
  /** Replaces the browser's `fetch` for the requests, like the option `fetch` of `open`. */
  declare fetch: Fetch | null;

  constructor() {
    super();
    this.src = null;
    this.theme = "auto";
    this.density = "normal";
    this.row = null;
    this.totalRows = null;
    this.memory = null;
    this.credentials = null;
    this.workerSrc = null;
    this.wasmSrc = null;
    this.readerSrc = null;
    this.fieldColumns = false;
    this.source = null;
    this.headers = null;
    this.fetch = null;
  }
  /** The view as JSON; setting all or some of it restores that view. */
  abstract get state(): ViewerState;
  abstract set state(state: ViewerStateInput);

  /** The sort keys, the most important first; an empty array for the order of the source. */
  get sort(): readonly SortKey[] {
    return this.state.sort;
  }
  set sort(sort: readonly SortKey[]) {
    this.state = { sort };
  }

  /** The names of the shown columns, in that order. It can be set to null, which shows all columns. */
  get columns(): readonly string[] {
    return this.state.columns.shown;
  }
  set columns(shown: readonly string[] | null) {
    this.state = { columns: { ...this.state.columns, shown: shown ?? undefined } };
  }

  /** The filter of the rows; null for all rows. */
  get filter(): Predicate | null {
    return this.state.filter;
  }
  set filter(filter: Predicate | null) {
    this.state = { filter };
  }

  /** The options of `open` from the attributes. */
  protected get openOptions(): OpenOptions {
    return {
      headers: this.headers ?? undefined,
      fetch: this.fetch ?? undefined,
      credentials: this.credentials ?? undefined,
      memoryBytes: this.memory === null ? DEFAULT_MEMORY_BYTES : parseBytes(this.memory),
      totalRows: this.totalRows ?? undefined,
      workerSrc: this.workerSrc ?? undefined,
      wasmSrc: this.wasmSrc ?? undefined,
      readerSrc: this.readerSrc ?? undefined,
    };
  }
}
