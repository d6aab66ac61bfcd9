import type { Field } from "../model/schema.js";
import { type Alignment, alignmentOf, ColumnLayout } from "./columns.js";

/** Which columns are shown, by their position in the table. */
export interface ShownColumns {
  columns: readonly number[];
  /** How many of them are pinned at the left, if there is room. */
  numPinned: number;
  /** Widths set by the user, by the column's position in the table; other columns fit their texts. */
  widthsPx: Readonly<Record<number, number>>;
}

/** The columns of a table, and which of them are shown, in which order and how wide. */
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

  /** @param widthsPx default widths until {@link setWidths} */
  constructor(all: readonly Field[], widthsPx: readonly number[]) {
    this.all = all;
    this.#widthsPx = widthsPx;
    this.#shown = { columns: all.map((_, column) => column), numPinned: 0, widthsPx: {} };
    this.#fields = all;
    this.#alignments = all.map(alignmentOf);
    this.#layout = this.#layOut();
  }

  /** The shown columns, by their position in the table. */
  get columns(): readonly number[] {
    return this.#shown.columns;
  }

  /** The fields of the shown columns. */
  get fields(): readonly Field[] {
    return this.#fields;
  }

  /** The alignment of the shown columns. */
  get alignments(): readonly Alignment[] {
    return this.#alignments;
  }

  /** The positions and widths of the shown columns. */
  get layout(): ColumnLayout {
    return this.#layout;
  }

  /** Shows columns; returns whether the shown columns, their order or the number of pinned ones changed. */
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

  /** Sets the width of the viewport, which bounds how many columns are pinned. */
  setViewport(viewportPx: number): void {
    this.#viewportPx = viewportPx;
    if (this.#shown.numPinned > 0) this.#layout = this.#layOut();
  }

  /** The positions in the table of columns that are given by their position on the screen. */
  positionsOf(shown: Uint32Array): Uint32Array {
    return shown.map((column) => this.#shown.columns[column] ?? 0);
  }

  #layOut(): ColumnLayout {
    const { columns, numPinned, widthsPx } = this.#shown;
    const widths = columns.map((column) => widthsPx[column] ?? this.#widthsPx[column] ?? 0);
    return new ColumnLayout(widths, numPinned, this.#viewportPx);
  }
}
