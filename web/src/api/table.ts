import type { Table as ArrowTable } from "apache-arrow";
import { poolOf } from "../http/connection-pool.js";
import type { Fetch } from "../http/fetch-bridge.js";
import { PoolServer } from "../http/pool-server.js";
import { queryUrl } from "../http/query-request.js";
import type { SortKey } from "../model/arrangement.js";
import { ColonnadeError, cancelledError, isFatal, workerLost } from "../model/errors.js";
import type { Predicate } from "../model/predicate.js";
import type { StreamProgress } from "../model/progress.js";
import type { RowWindow } from "../model/row-window.js";
import type { Schema } from "../model/schema.js";
import type { Summary } from "../model/summary.js";
import type { UrlSource } from "../model/wire-source.js";
import type { FirstCells, NoticeName, Notices, WasmModule } from "../rpc/messages.js";
import { Requester } from "../rpc/requester.js";
import { MemoryShare } from "./page-memory.js";
import type {
  ColumnValues,
  FindOptions,
  Found,
  RowRange,
  SummaryOptions,
  View,
  WorkOptions,
} from "./row-reader.js";
import type { OpenedFile, PreparedSource } from "./source.js";
import { TableReader } from "./table-reader.js";
import { onWake } from "./wake.js";
import type { TableWorker } from "./worker-lease.js";

/**
 * The state of a table. `complete`: every row has arrived. `windowed`: the memory budget is full, and
 * rows load from the server when they are read. `failed` and `cancelled`: the rows that arrived
 * stay readable.
 */
export type TableState = "streaming" | "complete" | "windowed" | "failed" | "cancelled";

/** The progress of a table. Counters only grow. */
export interface TableProgress extends StreamProgress {
  /** The total number of rows, if known. */
  totalRows: number | undefined;
  /**
   * `interrupted` while a lost connection is re-established, `waiting` while other tables of the
   * page use the connections. The state does not change meanwhile.
   */
  connection: "open" | "interrupted" | "waiting";
}

/** The events of a {@link Table} by name. */
export interface TableEventMap {
  schema: CustomEvent<Schema>;
  /** Rows arrived, or the state changed. */
  progress: CustomEvent<TableProgress>;
  complete: CustomEvent<TableProgress>;
  /** Reading pauses until {@link Table.resume}; see {@link Table.paused}. */
  pause: CustomEvent<ColonnadeError>;
  error: CustomEvent<ColonnadeError>;
}

/** A `Table` has `addEventListener` and `removeEventListener`, with typed events. */
export interface Table {
  addEventListener<K extends keyof TableEventMap>(
    type: K,
    listener: (event: TableEventMap[K]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<K extends keyof TableEventMap>(
    type: K,
    listener: (event: TableEventMap[K]) => void,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void;
}

interface StartOptions {
  signal: AbortSignal | undefined;
  memoryBytes: number;
  totalRows: number | undefined;
  wasm: Promise<WasmModule | string | undefined>;
  firstCells?: FirstCells | undefined;
  isArranged?: boolean;
}

/** A table that `open` returns. A worker holds its rows; {@link close} releases them. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the interface only types listeners
export class Table extends EventTarget {
  readonly #worker: TableWorker;
  readonly #requester: Requester;
  readonly #rows: TableReader;
  readonly #pool: PoolServer;
  readonly #prepared: PreparedSource;
  readonly #totalRows: number | undefined;
  #memoryBytes: number;
  /** Its share of the page's memory; undefined if it is that of its file. */
  readonly #share: MemoryShare | undefined;
  #schema: Schema = { fields: [], metadata: {} };
  #state: TableState = "streaming";
  #error: ColonnadeError | undefined;
  #warning: "no_end_of_stream" | undefined;
  /** When the reading began, by this thread's clock; infinite before the first progress. */
  #startMs = Number.POSITIVE_INFINITY;
  #progress: StreamProgress = {
    rows: 0,
    batches: 0,
    bytes: 0,
    elapsedMs: 0,
    firstRowMs: undefined,
    interruption: undefined,
  };
  #canResume = false;
  #isHeldByServer: boolean;
  #isSchemaReported = false;
  #done!: Promise<void>;
  #resolveDone: () => void = () => undefined;
  #rejectDone: (error: ColonnadeError) => void = () => undefined;
  /** Aborts when there is nothing left to stop. */
  readonly #ended = new AbortController();
  /** Aborts when the table is closed. */
  readonly #released = new AbortController();

  /** @internal */
  static async start(
    worker: TableWorker,
    prepared: PreparedSource,
    options: StartOptions,
  ): Promise<Table> {
    const table = new Table(worker, prepared, options);
    const { wasm, signal, firstCells } = options;
    const memoryBytes = table.#share?.bytes ?? options.memoryBytes;
    signal?.addEventListener("abort", () => table.cancel(), { signal: table.#ended.signal });
    const released = table.#released.signal;
    globalThis.addEventListener?.("pagehide", () => table.#abandon(), { signal: released });
    onWake(() => table.#requester.send("retryNow", null), released);
    try {
      await table.#pool.requestFirst(signal);
      // The user left the page meanwhile: a return to it must not continue this table.
      if (table.#state !== "streaming") throw cancelledError();
      const params = { source: prepared.wire, memoryBytes, firstCells };
      const { transfer } = prepared;
      const opening = table.#requester.request("open", params, { signal, transfer });
      const loading = wasm.then((module) => table.#requester.send("module", { wasm: module }));
      const [opened] = await Promise.all([opening, loading]);
      table.#schema = opened.schema;
      table.#setProgress(opened.progress);
      table.#rows.keepFirst(opened.firstCells);
    } catch (thrown) {
      table.close();
      throw table.#error ?? thrown;
    }
    // Later, so that the caller can add a listener first.
    setTimeout(() => table.#reportSchema());
    return table;
  }

  private constructor(
    worker: TableWorker,
    prepared: PreparedSource,
    { totalRows, memoryBytes, firstCells, isArranged = false }: StartOptions,
  ) {
    super();
    this.#worker = worker;
    this.#prepared = prepared;
    this.#isHeldByServer = prepared.wire.kind === "url" && prepared.wire.query?.isKept === false;
    this.#totalRows = totalRows;
    this.#memoryBytes = memoryBytes;
    this.#share = prepared.file ? undefined : new MemoryShare(memoryBytes);
    if (this.#share) this.#share.onFree = () => this.#takeFreed();
    this.#expectEnd();
    this.#requester = new Requester(worker, (name, data) => this.#onNotice(name, data));
    this.#rows = new TableReader(this.#requester, this, firstCells, isArranged);
    const { wire } = prepared;
    this.#pool = new PoolServer(wire.kind === "url" ? poolOf(wire.url) : undefined, (message) => {
      this.#requester.send("slot", message);
    });
    const onWorkerFailure = (event: Event) => {
      event.preventDefault();
      const reason = event instanceof ErrorEvent && event.message ? `: ${event.message}` : ".";
      this.#fail(
        new ColonnadeError("worker_failed", `The worker stopped${reason}`, {
          hint: "Check that worker.js is at workerSrc (worker-src) and that the page's policy allows it.",
        }),
      );
    };
    worker.addEventListener("error", onWorkerFailure);
    worker.addEventListener("messageerror", () => this.#fail(workerLost()));
    for (const { loss } of [worker, prepared]) {
      const onLoss = () => this.#fail(loss?.reason);
      if (loss?.aborted) onLoss();
      loss?.addEventListener("abort", onLoss, { signal: this.#released.signal });
    }
  }

  /**
   * Resolves when the table is complete or windowed; rejects with a {@link ColonnadeError} otherwise.
   * {@link resume} after a failure makes a new promise.
   */
  get done(): Promise<void> {
    return this.#done;
  }

  get schema(): Schema {
    return this.#schema;
  }

  /** Rows readable now. Grows while streaming, and while the total of a windowed table is unknown. */
  get numRows(): number {
    return this.#progress.rows;
  }

  get state(): TableState {
    return this.#state;
  }

  /** Why the table failed. */
  get error(): ColonnadeError | undefined {
    return this.#error;
  }

  /**
   * Set when the table is complete, but its bytes ended between two messages without an end-of-stream marker. The
   * Arrow format allows this, and it is accepted where the length of the bytes is known: in files, buffers, and
   * responses with `Content-Length` that do not come from a Colonnade server. All other streams then fail with
   * `missing_end_of_stream`.
   */
  get warning(): "no_end_of_stream" | undefined {
    return this.#warning;
  }

  /** Memory budget of the rows, in bytes. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /**
   * Why reading pauses, until {@link resume} with a larger budget or {@link cancel}: the
   * memory budget is full, and rows of this source cannot be loaded on demand.
   */
  get paused(): ColonnadeError | undefined {
    const { pause } = this.#progress;
    if (this.#state !== "streaming" || pause === undefined) return undefined;
    return ColonnadeError.fromPlain(pause);
  }

  get progress(): TableProgress {
    const isComplete = this.#state === "complete";
    const totalRows = isComplete ? this.#progress.rows : this.#expectedRows;
    const isReading = this.#state === "streaming" || this.#state === "windowed";
    const interruption = isReading ? this.#progress.interruption : undefined;
    const isWaiting = this.#state === "streaming" && this.#progress.isWaiting;
    const connection = interruption !== undefined ? "interrupted" : isWaiting ? "waiting" : "open";
    return { ...this.#progress, elapsedMs: this.#elapsedMs, totalRows, connection, interruption };
  }

  /** Continues between two reports while rows are awaited. */
  get #elapsedMs(): number {
    const { elapsedMs, interruption, pause, isWaiting } = this.#progress;
    const isReading = this.#state === "streaming" && !interruption && !pause && !isWaiting;
    return isReading ? Math.max(elapsedMs, performance.now() - this.#startMs) : elapsedMs;
  }

  get #expectedRows(): number | undefined {
    if (this.#state === "windowed") return this.#progress.totalRows;
    return this.numRows > (this.#totalRows ?? 0) ? undefined : this.#totalRows;
  }

  /** Whether {@link resume} can continue after the failure, as after a lost connection. */
  get canResume(): boolean {
    return this.#canResume;
  }

  /** @internal The request for the rows, if a Colonnade server answers it. */
  get request(): UrlSource | undefined {
    const { wire, file } = this.#prepared;
    const isServers = wire.kind === "url" && wire.query !== undefined && file === undefined;
    return isServers ? wire : undefined;
  }

  /** @internal What is known of the Parquet file that the reader reads; undefined for other sources. */
  get file(): OpenedFile | undefined {
    return this.#prepared.file;
  }

  /** @internal The page's own `fetch`, which answers that request; undefined if it has none. */
  get fetch(): Fetch | undefined {
    return this.#prepared.fetch;
  }

  /** @internal The rows readable now. */
  get rows(): View {
    return this.#rows;
  }

  /** Like {@link RowReader.text}, for the rows readable now. */
  text(range: RowRange, columns?: readonly (string | number)[]): Promise<(string | null)[][]> {
    return this.#rows.text(range, columns);
  }

  /** Like {@link RowReader.window}, for the rows readable now. */
  window(
    range: RowRange,
    columns: Uint32Array,
    maxChars: number,
    signal?: AbortSignal,
  ): Promise<RowWindow> {
    return this.#rows.window(range, columns, maxChars, signal);
  }

  /** Like {@link RowReader.values}, for the rows readable now. */
  values(column: string | number, range: RowRange): Promise<ColumnValues> {
    return this.#rows.values(column, range);
  }

  /**
   * Like {@link RowReader.sort}, for the rows readable now, even while others arrive. (While rows
   * arrive, the element asks the server instead, or reports `not_complete` if the source is not a Colonnade server.) Rejects with `windowed` if the table is windowed.
   */
  sort(keys: readonly SortKey[], options?: WorkOptions): Promise<View> {
    return this.#rows.sort(keys, options);
  }

  /** Like {@link RowReader.filter}, for the rows readable now. What {@link sort} says about arriving rows applies. */
  filter(predicate: Predicate, options?: WorkOptions): Promise<View> {
    return this.#rows.filter(predicate, options);
  }

  /** Like {@link RowReader.find}, for the rows readable now. */
  find(text: string, options?: FindOptions): Promise<Found> {
    return this.#rows.find(text, options);
  }

  /** Like {@link RowReader.summary}, for the rows readable now. */
  summary(column: string, options?: SummaryOptions): Promise<Summary> {
    return this.#rows.summary(column, options);
  }

  /**
   * Returns the rows readable now as a table of the package `apache-arrow`, an optional peer
   * dependency that the caller installs. Rejects with `unsupported_type` and the column's name if
   * that package cannot read a type.
   */
  toArrow(options: { signal?: AbortSignal | undefined } = {}): Promise<ArrowTable> {
    return this.#rows.toArrow(options);
  }

  /**
   * Continues after the rows that arrived: after a failure if {@link canResume}, or, if
   * {@link paused}, with a larger budget in bytes (default twice the present one). Otherwise does nothing.
   */
  resume({ memoryBytes = 2 * this.#memoryBytes }: { memoryBytes?: number | undefined } = {}): void {
    if (this.paused !== undefined) {
      this.#share?.extend(memoryBytes);
      this.#endPause(memoryBytes);
      return;
    }
    if (!this.#canResume) return;
    this.#canResume = false;
    this.#error = undefined;
    this.#state = "streaming";
    this.#expectEnd();
    this.#requester.send("resume", null);
    this.#dispatch("progress", this.progress);
  }

  /** Stops the stream, here and at the server. The rows that arrived stay readable. */
  cancel(): void {
    if (this.#state !== "streaming") return;
    this.#abandon();
    this.#dispatch("progress", this.progress);
  }

  /** Stops the stream and releases the rows. Later calls reject with `closed`. */
  close(): void {
    this.cancel();
    this.#dropAtServer();
    this.#release();
  }

  /** @internal Keeps the result at the server when the table is closed, because others are derived from it. */
  keep(): void {
    this.#isHeldByServer = false;
  }

  /** @internal Like {@link close}, but the server keeps the result, because others are derived from it. */
  park(): void {
    this.#stop();
    this.#release();
  }

  #release(): void {
    this.#ended.abort();
    this.#released.abort();
    this.#requester.fail(new ColonnadeError("closed", "The table was closed."));
    this.#worker.release();
    this.#pool.close();
    this.#share?.close();
    this.#prepared.port?.close();
  }

  #stop(): void {
    if (this.#state !== "streaming") return;
    this.#state = "cancelled";
    this.#ended.abort();
    this.#requester.send("stop", null);
    this.#rejectDone(cancelledError());
  }

  #abandon(): void {
    this.#stop();
    this.#dropAtServer();
  }

  #onNotice<N extends NoticeName>(name: N, data: Notices[N]): void {
    switch (name) {
      case "progress":
        this.#setProgress(data as StreamProgress);
        this.#reportSchema();
        this.#dispatch("progress", this.progress);
        if (this.paused !== undefined) this.#dispatch("pause", this.paused);
        break;
      case "slot":
        this.#pool.receive(data as Notices["slot"]);
        break;
      case "memory":
        this.#onMemory(data as Notices["memory"]);
        break;
      case "end":
        this.#onEnd(data as Notices["end"]);
        break;
      case "crash":
        this.#fail(ColonnadeError.fromPlain(data as Notices["crash"]));
        break;
    }
  }

  #endPause(memoryBytes: number): void {
    this.#memoryBytes = memoryBytes;
    this.#progress = { ...this.#progress, pause: undefined };
    this.#requester.send("grow", { memoryBytes });
    this.#dispatch("progress", this.progress);
  }

  /** Ends a pause with memory that another table has given back. */
  #takeFreed(): void {
    const { bytes: heldBytes = 0 } = this.#share ?? {};
    const memoryBytes = this.paused && this.#share?.grow(2 * heldBytes);
    if (memoryBytes && memoryBytes > heldBytes) this.#endPause(memoryBytes);
  }

  #onMemory({ wantedBytes, isAll }: Notices["memory"]): void {
    if (isAll) {
      this.#share?.trim(wantedBytes);
      return;
    }
    const memoryBytes = this.#share?.grow(wantedBytes) ?? this.#memoryBytes;
    if (memoryBytes < wantedBytes) this.#memoryBytes = memoryBytes;
    this.#requester.send("grow", { memoryBytes });
  }

  #setProgress(progress: StreamProgress): void {
    this.#progress = progress;
    this.#startMs = Math.min(this.#startMs, performance.now() - progress.elapsedMs);
  }

  #expectEnd(): void {
    this.#done = new Promise((resolve, reject) => {
      this.#resolveDone = resolve;
      this.#rejectDone = reject;
    });
    // No unhandled rejection: callers that do not await the end listen to events.
    this.#done.catch(() => undefined);
  }

  #onEnd({ state, error, warning, canResume, ...progress }: Notices["end"]): void {
    this.#progress = progress;
    this.#reportSchema();
    if (this.#state === "streaming") {
      this.#canResume = canResume ?? false;
      if (error !== undefined) {
        this.#fail(ColonnadeError.fromPlain(error));
        return;
      }
      this.#state = state;
      this.#warning = warning;
      this.#ended.abort();
      this.#dispatch("progress", this.progress);
      if (state === "complete") this.#dispatch("complete", this.progress);
      this.#resolveDone();
    } else {
      this.#dispatch("progress", this.progress);
    }
  }

  #fail(error: ColonnadeError): void {
    if (isFatal(error)) {
      this.#canResume = false;
      this.#requester.fail(error);
      this.#worker.terminate();
      this.#pool.close();
      this.#share?.close();
      this.#prepared.port?.close();
      this.#dropAtServer();
    } else if (this.#state !== "streaming") {
      return;
    }
    this.#state = "failed";
    if (!this.#canResume) this.#ended.abort();
    this.#error = error;
    this.#rejectDone(error);
    this.#dispatch("progress", this.progress);
    this.#dispatch("error", error);
  }

  #reportSchema(): void {
    if (this.#isSchemaReported) return;
    this.#isSchemaReported = true;
    this.#dispatch("schema", this.#schema);
  }

  #dispatch(type: keyof TableEventMap, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  /** Deletes the result at the server now instead of after its linger time. */
  #dropAtServer(): void {
    const { wire, fetch: send = fetch } = this.#prepared;
    if (!this.#isHeldByServer || wire.kind !== "url" || wire.query === undefined) return;
    this.#isHeldByServer = false;
    const url = `${queryUrl(wire.url, wire.query.id)}`;
    const { headers, credentials } = wire;
    // The answer does not matter: a server that stopped has dropped the result as well.
    send(url, { method: "DELETE", headers, credentials, keepalive: true }).catch(() => undefined);
  }
}
