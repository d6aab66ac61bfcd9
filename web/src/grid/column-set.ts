import type { Field } from "../model/schema.js";
import { type Alignment, alignmentOf, ColumnLayout } from "./columns.js";

/** Which columns are shown, by their position in the table. */
export interface ShownColumns {
  columns: readonly number[];
  /** How many of them stay at the left, where there is room. */
  numPinned: number;
  /** Widths that were chosen, by the column's position in the table; the others follow the texts. */
  widthsPx: Readonly<Record<number, number>>;
}

/** The columns of a table, and those of them that are shown: which, in which order, how wide. */
export class ColumnSet {
  /** All columns of the table. */
  readonly all: readonly Field[];
  #shown: ShownColumns;
  /** Default widths of columns. */
  #widthsPx: readonly number[];
  #fields: readonly Field[];
  #alignments: readonly Alignment[];
  #layout: ColumnLayout;
  #viewportPx = Number.POSITIVE_INFINITY;

  /** @param widthsPx how wide they are until {@link setWidths} says otherwise */
  constructor(all: readonly Field[], widthsPx: readonly number[]) {
    this.all = all;
    this.#widthsPx = widthsPx;
    this.#shown = { columns: all.map((_, column) => column), numPinned: 0, widthsPx: {} };
    this.#fields = all;
    this.#alignments = all.map(alignmentOf);
    this.#layout = this.#layOut();
  }

  /** Those that are shown, by their position in the table. */
  get columns(): readonly number[] {
    return this.#shown.columns;
  }

  /** Those that are shown. */
  get fields(): readonly Field[] {
    return this.#fields;
  }

  /** How their texts are placed. */
  get alignments(): readonly Alignment[] {
    return this.#alignments;
  }

  /** Where they are. */
  get layout(): ColumnLayout {
    return this.#layout;
  }

  /** Shows columns by their widths; returns whether other columns are shown. */
  show(shown: ShownColumns): boolean {
    const { columns, numPinned } = this.#shown;
    const isSame =
      numPinned === shown.numPinned &&
      columns.length === shown.columns.length &&
      columns.every((column, index) => column === shown.columns[index]);
    this.#shown = shown;
    this.#fields = shown.columns.flatMap((column) => this.all[column] ?? []);
    this.#alignments = this.#fields.map(alignmentOf);
    this.#layout = this.#layOut();
    return !isSame;
  }

  /** Sets the widths of columns for which {@link show} set none. */
  setWidths(widthsPx: readonly number[]): void {
    this.#widthsPx = widthsPx;
    this.#layout = this.#layOut();
  }

  /** Sets the width that columns are seen in, which bounds how many stay at the left. */
  setViewport(viewportPx: number): void {
    this.#viewportPx = viewportPx;
    if (this.#shown.numPinned > 0) this.#layout = this.#layOut();
  }

  /** The positions in the table of columns that are shown. */
  positionsOf(shown: Uint32Array): Uint32Array {
    return shown.map((column) => this.#shown.columns[column] ?? 0);
  }

  #layOut(): ColumnLayout {
    const { columns, numPinned, widthsPx } = this.#shown;
    const widths = columns.map((column) => widthsPx[column] ?? this.#widthsPx[column] ?? 0);
    return new ColumnLayout(widths, numPinned, this.#viewportPx);
  }
}
