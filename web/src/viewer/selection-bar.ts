import { html, nothing } from "lit";
import type { CellRect } from "../grid/cache.js";
import { numCells } from "../grid/selection.js";
import { formatCount } from "../model/counts.js";
import { ColonnadeError } from "../model/errors.js";
import { type CopyOptions, copiesHtml, type ShownRows, toClipboard } from "./clipboard.js";
import type { CopyFormat } from "./formats.js";

/** What the bar needs of the viewer. */
export interface SelectionBarHost {
  requestUpdate(): void;
  /** The shown rows; undefined if there are none. */
  shown(): ShownRows | undefined;
  /** The selected cells; undefined if there are none. */
  rect(): CellRect | undefined;
}

/** A larger selection gets no totals. */
const MAX_SUMMED_CELLS = 1_000_000;
/** Totals are computed once the selection has not changed for this long. */
const REST_MS = 200;
/** How long the confirmation of a copy is shown. */
const NOTICE_MS = 5000;

const FORMAT_NAMES: readonly [CopyFormat, string][] = [
  ["tsv", "TSV"],
  ["csv", "CSV"],
  ["json", "JSON"],
  ["markdown", "Markdown"],
];

/** The part of the bar below the rows with the selection's size, totals and Copy button. */
export class SelectionBar {
  readonly #host: SelectionBarHost;
  /** Undefined until they are computed. */
  #totals: readonly string[] | undefined;
  #numCells = 0;
  #summing: AbortController | undefined;
  #copying: { abort: AbortController; fraction: number } | undefined;
  #format: CopyFormat = "tsv";
  #notice: { text: string; isError: boolean } | undefined;
  #announced = "";
  #restTimer: ReturnType<typeof setTimeout> | undefined;
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: SelectionBarHost) {
    this.#host = host;
  }

  /** Call it when the selection or its number of cells changes. */
  follow(): void {
    const rect = this.#host.rect();
    this.#numCells = rect === undefined ? 0 : numCells(rect);
    this.#summing?.abort();
    this.#totals = undefined;
    clearTimeout(this.#restTimer);
    this.#restTimer = setTimeout(() => void this.#sum(), REST_MS);
    this.#host.requestUpdate();
  }

  /** Call it when rows arrive, because a selection of whole columns then grows. */
  grow(): void {
    const rect = this.#host.rect();
    if (rect !== undefined && numCells(rect) !== this.#numCells) this.follow();
  }

  /** Stops copying; false if nothing is being copied. */
  cancel(): boolean {
    this.#copying?.abort.abort();
    return this.#copying !== undefined;
  }

  /** Stops all work, because the table is closed. */
  reset(): void {
    this.cancel();
    this.#notice = undefined;
    this.follow();
  }

  /** Copies cells. Must be called within a user's gesture. Rejects with a {@link ColonnadeError}. */
  async copy(rect: CellRect, options: CopyOptions): Promise<void> {
    const shown = this.#host.shown();
    if (shown === undefined) throw new ColonnadeError("nothing_selected", "No cell is selected.");
    this.cancel();
    const abort = new AbortController();
    const copying = { abort, fraction: 0 };
    this.#copying = copying;
    options.signal?.addEventListener("abort", () => abort.abort(), { signal: abort.signal });
    if (options.signal?.aborted) abort.abort();
    const onProgress = (fraction: number) => {
      copying.fraction = fraction;
      this.#host.requestUpdate();
    };
    try {
      const all = { ...options, signal: abort.signal };
      // Not awaited: the module loads at the first copy, but the clipboard must be called within the gesture.
      const written = import("./copy.js").then(({ writeCells }) =>
        writeCells(shown, rect, all, onProgress),
      );
      await toClipboard(written, copiesHtml(rect, options));
      this.show(`Copied ${formatCells(numCells(rect))}`, false);
    } catch (thrown) {
      const error = ColonnadeError.from(thrown, "copy_failed");
      if (error.code === "cancelled") this.show("Copying was cancelled", false);
      else this.show(`Not copied. ${error.message}`, true);
      throw error;
    } finally {
      if (this.#copying === copying) this.#copying = undefined;
      this.#host.requestUpdate();
    }
  }

  /** The bar; nothing while one cell or none is selected. */
  render() {
    return html`${this.#renderWords()}
      <div class="unseen" aria-live="polite">${this.#announced}</div>`;
  }

  #renderWords() {
    const copying = this.#copying;
    if (copying !== undefined) {
      const percent = Math.floor(copying.fraction * 100);
      return html`<div class="picked" part="selection"><span>Copying… ${percent} %</span></div>
        <button @click=${() => this.cancel()}>Stop copying</button>`;
    }
    const notice = this.#notice;
    const words =
      notice === undefined
        ? this.#factTexts().map((fact) => html`<span>${fact}</span>`)
        : html`<span class=${notice.isError ? "notice warning" : "notice"} title=${notice.text}>${notice.text}</span>`;
    if (notice === undefined && this.#numCells < 2) return nothing;
    const facts = html`<div class="picked" part="selection" aria-hidden="true">${words}</div>`;
    if (this.#numCells < 2) return facts;
    const options = FORMAT_NAMES.map(
      ([format, name]) =>
        html`<option value=${format} .selected=${format === this.#format}>
          ${name}
        </option>`,
    );
    return html`${facts}
      <div class="copy">
        <select aria-label="Copy format" @change=${this.#onFormat}>
          ${options}</select
        ><button @click=${this.#onCopy}>Copy</button>
      </div>`;
  }

  readonly #onFormat = (event: Event) => {
    this.#format = (event.currentTarget as HTMLSelectElement).value as CopyFormat;
  };

  readonly #onCopy = () => {
    const rect = this.#host.rect();
    // The bar shows the error.
    if (rect !== undefined) this.copy(rect, { format: this.#format }).catch(() => undefined);
  };

  #factTexts(): string[] {
    const isLarge = this.#numCells > MAX_SUMMED_CELLS;
    const totals = isLarge
      ? [`no totals above ${formatCount(MAX_SUMMED_CELLS)}`]
      : (this.#totals ?? ["…"]);
    return [formatCells(this.#numCells), ...totals];
  }

  async #sum(): Promise<void> {
    const rect = this.#host.rect();
    const shown = this.#host.shown();
    if (rect === undefined || shown === undefined || this.#numCells < 2) {
      this.#announced = "";
      return;
    }
    const summing = new AbortController();
    this.#summing = summing;
    let totals: readonly string[] = [];
    try {
      if (this.#numCells <= MAX_SUMMED_CELLS) {
        const { totalsWords } = await import("./totals.js");
        totals = await totalsWords(shown, rect, summing.signal);
      }
    } catch {
      // The grid reports rows that could not be read.
    }
    if (summing.signal.aborted) return;
    this.#totals = totals;
    this.#announced = this.#factTexts().join(", ").replace("cells", "cells selected");
    this.#host.requestUpdate();
  }

  /** Shows a text instead of the selection for 5 s. */
  show(text: string, isError: boolean): void {
    this.#notice = { text, isError };
    this.#announced = text;
    clearTimeout(this.#noticeTimer);
    this.#noticeTimer = setTimeout(() => {
      this.#notice = undefined;
      this.#host.requestUpdate();
    }, NOTICE_MS);
    this.#host.requestUpdate();
  }
}

function formatCells(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "cell" : "cells"}`;
}
