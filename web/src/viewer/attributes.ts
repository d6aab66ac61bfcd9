import { LitElement, type PropertyDeclarations } from "lit";
import type { TableSource } from "../source.js";

/** What a page sets at `<colonnade-viewer>`: its attributes, and properties that come before them. */
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
    source: { attribute: false },
    headers: { attribute: false },
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
  /** Anything that `open` takes; comes before `src`. */
  declare source: TableSource | null;
  /** Headers to send with the request for `src` or `source`. */
  declare headers: HeadersInit | null;

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
    this.source = null;
    this.headers = null;
  }
}
