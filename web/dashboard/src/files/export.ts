import { ColonnadeError, type ColonnadeViewer } from "colonnade";
import { errorFromResponse } from "../server/response-error.js";
import { session } from "../server/session.js";
import { type CsvOptions, csvParameters } from "./csv-options.js";

/** A file format of exports. */
export interface ExportFormat {
  /** The value of `format=`, and the file extension. */
  id: "parquet" | "csv" | "arrow" | "ndjson";
  label: string;
  about: string;
}

/** All formats, the most useful first. */
export const EXPORT_FORMATS: readonly ExportFormat[] = [
  { id: "parquet", label: "Parquet", about: "Keeps types, compact" },
  { id: "csv", label: "CSV", about: "Text without types, for spreadsheets" },
  { id: "arrow", label: "Arrow", about: "Keeps types, fastest to open" },
  { id: "ndjson", label: "NDJSON", about: "One JSON object per line, dates as text" },
];

/** The progress of an export. */
export type ExportState =
  | { is: "preparing" }
  | { is: "running"; rows: number; bytes: number }
  | { is: "done"; rows: number; bytes: number }
  | { is: "failed"; error: ColonnadeError }
  | { is: "cancelled" };

/** The server's record of an exported result; see `GET /v1/query/{id}`. */
interface ExportRecord {
  rows: number | null;
  error: { code: string; message: string; hint: string } | null;
  export?: { rows: number; bytes: number; state: "running" | "done" | "failed" | "cancelled" };
}

/** The rows to export, and the file. */
export interface ExportOptions {
  /** The `POST /v1/query` for the rows; or the viewer whose rows this tab writes, as far as they arrived. */
  rows: Request | ColonnadeViewer;
  format: ExportFormat;
  /** The file's name without extension. */
  name: string;
  /** How a CSV file is written. */
  csv: CsvOptions;
  /** The number of rows, if known. */
  totalRows: number | undefined;
}

const POLL_MS = 400;
/** The browser requests the file at once; if no export has begun after this, it was refused. */
const START_MS = 4000;
/** How long the server may not respond to polls while the browser may still download. */
const MAX_SILENCE_MS = 30_000;
/** The statuses of a busy server, or of a proxy that cannot reach it. */
const TRANSIENT_STATUSES = [502, 503, 504];
/** How long the result waits for the browser to ask for the file, in seconds. */
const LINGER_S = 60;

/**
 * A file that the server writes while the browser downloads it. It has a result of its own, so it
 * continues whatever the page shows, and ends when that result is deleted. Rows that only this tab has are
 * written by the tab.
 */
export class Export {
  readonly options: ExportOptions;
  readonly #onChange: () => void;
  #state: ExportState = { is: "preparing" };
  #totalRows: number | undefined;
  #id: string | undefined;
  /** The time of the server's last response, as by `performance.now()`. */
  #respondedAtMs = 0;
  readonly #abort = new AbortController();

  constructor(options: ExportOptions, onChange: () => void) {
    this.options = options;
    this.#totalRows = options.totalRows;
    this.#onChange = onChange;
  }

  get state(): ExportState {
    return this.#state;
  }

  get fileName(): string {
    return `${this.options.name}.${this.options.format.id}`;
  }

  /** The number of rows of the file, if known. */
  get totalRows(): number | undefined {
    return this.#totalRows;
  }

  get isRunning(): boolean {
    return this.#state.is === "preparing" || this.#state.is === "running";
  }

  /** Exports the file; resolves once it is complete, has failed or was cancelled. */
  async run(): Promise<void> {
    const { rows } = this.options;
    try {
      if (!(rows instanceof Request)) return await this.#write(rows);
      const query = JSON.parse(await rows.clone().text()) as object;
      // Only Parquet does not support all types. A browser's download would hide the server's error.
      if (this.options.format.id === "parquet") await this.#checkTypes(rows, query);
      this.#id = await this.#createResult(rows, query);
      this.#save(this.#url(this.#id));
      await this.#follow();
    } catch (thrown) {
      if (this.#state.is === "cancelled") return;
      this.#setState({ is: "failed", error: ColonnadeError.from(thrown, "export_failed") });
    }
  }

  /** Cancels the export at the server; the browser shows its download as failed. */
  cancel(): void {
    if (!this.isRunning) return;
    this.#abort.abort();
    if (this.#id !== undefined) void this.#deleteResult(this.#id);
    this.#setState({ is: "cancelled" });
  }

  /** Writes the rows in this tab. */
  async #write(viewer: ColonnadeViewer): Promise<void> {
    const { format, csv, totalRows = 0 } = this.options;
    if (format.id === "parquet") throw onlyServer();
    const { signal } = this.#abort;
    const onProgress = (fraction: number) =>
      this.#setState({ is: "running", rows: Math.round(fraction * totalRows), bytes: 0 });
    const file = await viewer.toBlob({
      format: format.id,
      delimiter: csv.delimiter === "tab" ? "\t" : csv.delimiter,
      decimal: csv.decimal,
      bom: csv.bom,
      escapeFormulas: csv.escapesFormulas,
      signal,
      onProgress,
    });
    const url = URL.createObjectURL(file);
    this.#save(url);
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    this.#setState({ is: "done", rows: totalRows, bytes: file.size });
  }

  /** Creates the result without reading its rows; resolves with its id. */
  async #createResult(request: Request, query: object): Promise<string> {
    const response = await session.fetch(request.url, {
      method: "POST",
      headers: request.headers,
      credentials: request.credentials,
      body: JSON.stringify({ ...query, linger_s: LINGER_S }),
      signal: this.#abort.signal,
    });
    await response.body?.cancel();
    return response.headers.get("x-query-id") ?? "";
  }

  async #checkTypes(request: Request, query: object): Promise<void> {
    const id = await this.#createResult(request, { ...query, limit: 0 });
    try {
      const { signal } = this.#abort;
      await (await session.fetch(this.#url(id), { signal })).arrayBuffer();
    } finally {
      void this.#deleteResult(id);
    }
  }

  #save(url: string): void {
    const link = document.createElement("a");
    link.href = url;
    link.download = this.fileName;
    link.click();
  }

  async #follow(): Promise<void> {
    const startMs = performance.now();
    this.#respondedAtMs = startMs;
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (this.#state.is === "cancelled") return;
      const record = await this.#read();
      if (record === undefined) continue;
      const { rows: totalRows, error, export: file } = record;
      this.#totalRows = totalRows ?? this.#totalRows;
      if (file === undefined) {
        if (performance.now() - startMs > START_MS) await this.#throwRefusal();
        continue;
      }
      const { rows, bytes, state } = file;
      if (state === "running") {
        this.#setState({ is: "running", rows, bytes });
      } else if (state === "done") {
        this.#setState({ is: "done", rows, bytes });
        return;
      } else {
        throw error === null ? downloadEnded() : errorFromResponse(200, JSON.stringify(error));
      }
    }
  }

  /** Reads the result's record; undefined if the server is temporarily unavailable. */
  async #read(): Promise<ExportRecord | undefined> {
    try {
      const { signal } = this.#abort;
      const response = await session.fetch(`/v1/query/${this.#id}`, { signal });
      const record = (await response.json()) as ExportRecord;
      this.#respondedAtMs = performance.now();
      return record;
    } catch (thrown) {
      const { code, status } = ColonnadeError.from(thrown, "network_error");
      const isTransient = code === "network_error" || TRANSIENT_STATUSES.includes(status ?? 0);
      if (!isTransient || performance.now() - this.#respondedAtMs > MAX_SILENCE_MS) throw thrown;
      return undefined;
    }
  }

  /** Throws the error with which the server refused the download. */
  async #throwRefusal(): Promise<void> {
    const { signal } = this.#abort;
    const response = await session.fetch(this.#url(this.#id ?? ""), { signal });
    await response.body?.cancel();
    throw downloadEnded();
  }

  #url(id: string): string {
    const { format, name, csv } = this.options;
    const ofCsv = format.id === "csv" ? csvParameters(csv) : {};
    const parameters = new URLSearchParams({ format: format.id, name, ...ofCsv });
    return `/v1/query/${id}/export?${parameters}`;
  }

  #deleteResult(id: string): Promise<unknown> {
    return fetch(`/v1/query/${id}`, { method: "DELETE" }).catch(() => undefined);
  }

  #setState(state: ExportState): void {
    this.#state = state;
    this.#onChange();
  }
}

function onlyServer(): ColonnadeError {
  return new ColonnadeError("not_exportable", "Only the server can write Parquet.", {
    hint: "Export Arrow, which keeps the types too.",
  });
}

function downloadEnded(): ColonnadeError {
  return new ColonnadeError("download_ended", "The browser stopped the download before its end.", {
    hint: "Check that the disk has free space and that the browser allows downloads.",
  });
}

/** The name of an export's file: of the table, or with the time for a statement. */
export function exportName(table: string | undefined, isFiltered: boolean, now: Date): string {
  if (table !== undefined) {
    const plain = table.replace(/[\p{Cc}/\\:*?"<>|]+/gu, "_");
    return isFiltered ? `${plain}-filtered` : plain;
  }
  const two = (value: number) => String(value).padStart(2, "0");
  const date = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join("");
  return `query-${date}-${[now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join("")}`;
}
