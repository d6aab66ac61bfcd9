import { ColonnadeError } from "../model/errors.js";
import type { RowWindow } from "../model/row-window.js";

/** Rows of a tile: a little more than a viewport, so that one request covers the visible rows. */
export const TILE_ROWS = 64;
/** Columns of a tile. */
export const TILE_COLUMNS = 16;

/** Reads rows `[start, end)` of some columns; fewer rows if they have not arrived. */
export type ReadWindow = (
  start: number,
  end: number,
  columns: Uint32Array,
  signal: AbortSignal,
) => Promise<RowWindow>;

/** A rectangle of cells: rows and columns `[start, end)`. */
export interface CellRect {
  rowStart: number;
  rowEnd: number;
  columnStart: number;
  columnEnd: number;
}

/** One cell's position in its tile. */
export interface CachedCell {
  window: RowWindow;
  /** The column's position in the window. */
  position: number;
}

/** How far around the viewport cells are prefetched, in viewports. */
const READ_AHEAD = 2;

/** The rectangles to read while rows and columns `[start, end)` are visible, the most urgent first. */
export function wantedRects(
  rows: { start: number; end: number },
  columns: { start: number; end: number },
  numRows: number,
  numPinned: number,
): CellRect[] {
  const visible = {
    rowStart: rows.start,
    rowEnd: rows.end,
    columnStart: columns.start,
    columnEnd: columns.end,
  };
  const aheadRows = READ_AHEAD * (rows.end - rows.start);
  const around = {
    ...visible,
    rowStart: Math.max(0, rows.start - aheadRows),
    rowEnd: Math.min(numRows, rows.end + aheadRows),
  };
  return [visible, { ...around, columnStart: 0, columnEnd: numPinned }, around];
}

/** Tiles in the cache: hundreds of viewports, a few MB of text at most. */
const MAX_TILES = 256;
/** Enough to keep the worker busy, few enough that newly visible cells never wait long. */
const MAX_REQUESTS = 4;

/**
 * Caches the texts around the viewport. Lookups are synchronous. Missing tiles are requested after the
 * frame, visible ones first, and requests for tiles that are no longer wanted are cancelled.
 *
 * Rows are appended and never change, so a tile is stale only if it was read before its last row
 * had arrived.
 */
export class CellCache {
  readonly #read: ReadWindow;
  readonly #onArrival: () => void;
  readonly #tiles = new Map<string, RowWindow>();
  readonly #requests = new Map<string, AbortController>();
  /** The errors of visible tiles that could not be read. */
  readonly #failures = new Map<string, unknown>();
  #numRows = 0;
  #numColumns = 0;
  #wanted: TileKey[] = [];

  /** @param onArrival called when cells have arrived or failed, always asynchronously */
  constructor(read: ReadWindow, onArrival: () => void) {
    this.#read = read;
    this.#onArrival = onArrival;
  }

  /** The error of visible cells that could not be read; undefined if none has failed. */
  get failure(): unknown {
    return this.#failures.values().next().value;
  }

  /** Whether the cell could not be read. */
  hasFailed(row: number, column: number): boolean {
    return this.#failures.has(
      tileName(Math.floor(row / TILE_ROWS), Math.floor(column / TILE_COLUMNS)),
    );
  }

  /** Makes the next {@link want} read failed tiles again. */
  retry(): void {
    this.#failures.clear();
  }

  /** The cell if it is cached; undefined if it is pending or has failed. */
  cell(row: number, column: number): CachedCell | undefined {
    const window = this.#tiles.get(
      tileName(Math.floor(row / TILE_ROWS), Math.floor(column / TILE_COLUMNS)),
    );
    if (window === undefined || row >= window.end) return undefined;
    return { window, position: column % TILE_COLUMNS };
  }

  /**
   * Sets the wanted rectangles. Cells of the first rectangles are read first; requests for other
   * cells are cancelled.
   */
  want(rects: readonly CellRect[], numRows: number, numColumns: number): void {
    this.#numRows = numRows;
    this.#numColumns = numColumns;
    const names = new Set<string>();
    this.#wanted = [];
    for (const key of rects.flatMap((rect) => [...tilesOf(rect)])) {
      if (names.has(key.name)) continue;
      names.add(key.name);
      if (this.#failures.has(key.name)) continue;
      if (this.#isMissing(key)) this.#wanted.push(key);
      else this.#touch(key.name);
    }
    // A failed tile is read again when it is wanted again.
    for (const name of this.#failures.keys()) {
      if (!names.has(name)) this.#failures.delete(name);
    }
    for (const [name, controller] of this.#requests) {
      if (!names.has(name)) controller.abort();
    }
    this.#pump();
  }

  /** Cancels all requests. */
  close(): void {
    this.#wanted = [];
    this.#failures.clear();
    for (const controller of this.#requests.values()) controller.abort();
  }

  #isMissing({ name, tileRow }: TileKey): boolean {
    const tile = this.#tiles.get(name);
    if (tile === undefined) return true;
    return tile.end < Math.min((tileRow + 1) * TILE_ROWS, this.#numRows);
  }

  #pump(): void {
    while (this.#requests.size < MAX_REQUESTS) {
      const key = this.#wanted.shift();
      if (key === undefined) return;
      if (!this.#requests.has(key.name)) this.#request(key);
    }
  }

  async #request({ name, tileRow, tileColumn }: TileKey): Promise<void> {
    const controller = new AbortController();
    this.#requests.set(name, controller);
    const start = tileRow * TILE_ROWS;
    const end = Math.min(start + TILE_ROWS, this.#numRows);
    const firstColumn = tileColumn * TILE_COLUMNS;
    const numColumns = Math.min(TILE_COLUMNS, this.#numColumns - firstColumn);
    const columns = Uint32Array.from({ length: numColumns }, (_, index) => firstColumn + index);
    try {
      const window = await this.#read(start, end, columns, controller.signal);
      this.#tiles.delete(name);
      this.#tiles.set(name, window);
      for (const oldest of this.#tiles.keys()) {
        if (this.#tiles.size <= MAX_TILES) break;
        this.#tiles.delete(oldest);
      }
      this.#onArrival();
    } catch (thrown) {
      // Rows whose sort was cancelled are about to be replaced.
      const isCancelled = ColonnadeError.from(thrown, "").code === "cancelled";
      if (!controller.signal.aborted && !isCancelled) {
        this.#failures.set(name, thrown);
        this.#onArrival();
      }
    } finally {
      this.#requests.delete(name);
      this.#pump();
    }
  }

  /** Marks a tile as just used: the Map's order is the order of eviction. */
  #touch(name: string): void {
    const tile = this.#tiles.get(name);
    if (tile === undefined) return;
    this.#tiles.delete(name);
    this.#tiles.set(name, tile);
  }
}

interface TileKey {
  name: string;
  tileRow: number;
  tileColumn: number;
}

function tileName(tileRow: number, tileColumn: number): string {
  return `${tileRow}:${tileColumn}`;
}

function* tilesOf(rect: CellRect): Generator<TileKey> {
  if (rect.rowEnd <= rect.rowStart || rect.columnEnd <= rect.columnStart) return;
  const lastRow = Math.floor((rect.rowEnd - 1) / TILE_ROWS);
  const lastColumn = Math.floor((rect.columnEnd - 1) / TILE_COLUMNS);
  for (let tileRow = Math.floor(rect.rowStart / TILE_ROWS); tileRow <= lastRow; tileRow++) {
    const first = Math.floor(rect.columnStart / TILE_COLUMNS);
    for (let tileColumn = first; tileColumn <= lastColumn; tileColumn++) {
      yield { name: tileName(tileRow, tileColumn), tileRow, tileColumn };
    }
  }
}
