import { css } from "lit";

/** The grid inside the viewer's shadow root; the viewer defines the colours. */
export const gridStyles = css`
  .grid {
    position: absolute;
    inset: 0;
    overflow: auto;
    outline: none;
    overscroll-behavior: contain;
    user-select: none;
    -webkit-user-select: none;
    /* No zoom by double tap, because a double tap opens a cell. */
    touch-action: manipulation;
    scrollbar-color: var(--_line-strong) transparent;
  }
  /* Laid out even while hidden, so that its size is known when the first rows arrive. */
  .grid[hidden] {
    display: block;
    visibility: hidden;
  }
  .content {
    position: relative;
    min-width: 100%;
  }
  .layer {
    position: sticky;
    inset: 0 auto auto 0;
    overflow: clip;
    contain: strict;
  }
  .head,
  .corner {
    position: absolute;
    top: 0;
    height: var(--header-height);
    box-sizing: border-box;
    border-bottom: 1px solid var(--_line-strong);
    background: var(--_surface);
    z-index: 1;
  }
  .head {
    left: var(--gutter);
    right: 0;
    overflow: clip;
  }
  .header-row {
    position: absolute;
    inset: 0;
  }
  .header-cell[hidden],
  .row[hidden],
  .number[hidden],
  .cell[hidden] {
    display: none;
  }
  .body,
  .gutter {
    position: absolute;
    top: var(--header-height);
    bottom: 0;
    overflow: clip;
  }
  .body {
    left: var(--gutter);
    right: 0;
  }
  .gutter,
  .corner {
    left: 0;
    width: var(--gutter);
    box-sizing: border-box;
    border-right: 1px solid var(--_line-strong);
    background: var(--_surface);
  }
  .rows,
  .numbers {
    position: absolute;
    inset: 0 auto auto 0;
    width: 100%;
    will-change: transform;
  }
  .row,
  .number {
    position: absolute;
    top: 0;
    left: 0;
    height: var(--row-height);
    box-sizing: border-box;
    contain: layout style;
  }
  .row {
    width: 100%;
  }
  .number {
    width: 100%;
    padding: 0 10px;
    color: var(--_muted);
    font-size: 11px;
    font-variant-numeric: tabular-nums;
    line-height: var(--row-height);
    text-align: right;
  }
  .cell {
    position: absolute;
    top: 0;
    left: 0;
    height: var(--row-height);
    padding: 0 10px;
    box-sizing: border-box;
    overflow: hidden;
    border-bottom: 1px solid var(--_line);
    border-right: 1px solid var(--_line);
    line-height: calc(var(--row-height) - 1px);
    font-variant-numeric: tabular-nums;
    text-overflow: ellipsis;
    white-space: pre;
    unicode-bidi: plaintext;
    cursor: default;
    outline: none;
    contain: strict;
  }
  .cell.end {
    text-align: right;
  }
  .cell.pinned {
    z-index: 1;
    background: var(--_bg);
  }
  .cell.pinned.last,
  .header-cell.pinned.last {
    border-right-color: var(--_line-strong);
  }
  .header-cell.pinned {
    z-index: 1;
  }
  .row:hover > .cell {
    background: var(--_hover);
  }
  .cell:focus {
    box-shadow: inset 0 0 0 2px var(--_accent);
  }
  .number {
    cursor: default;
  }
  .number.selected {
    color: var(--_text);
    background: var(--_selected);
  }
  .cell[data-mark="match"] {
    background: var(--_match);
  }
  .cell[aria-selected="true"],
  .row:hover > .cell[aria-selected="true"] {
    background: var(--_selected);
  }
  .cell[data-mark="current"],
  .row:hover > .cell[data-mark="current"] {
    background: var(--_match-current);
  }
  .handle {
    position: absolute;
    top: -16px;
    left: -16px;
    width: 32px;
    height: 32px;
    box-sizing: border-box;
    border: 9px solid transparent;
    border-radius: 50%;
    background: var(--_accent) padding-box;
    touch-action: none;
    z-index: 1;
  }
  .handle[hidden] {
    display: none;
  }
  .thumb-tip {
    position: absolute;
    top: 0;
    right: 6px;
    padding: 3px 9px;
    border-radius: 6px;
    background: var(--_text);
    color: var(--_bg);
    font-variant-numeric: tabular-nums;
    font-weight: 600;
    white-space: nowrap;
    pointer-events: none;
    z-index: 2;
  }
  .thumb-tip[hidden] {
    display: none;
  }
  .cell.null {
    color: var(--_muted);
    font-style: italic;
    font-size: 12px;
  }
  .cell.empty::before {
    content: "empty";
    padding: 1px 5px;
    border: 1px dashed var(--_line-strong);
    border-radius: 4px;
    color: var(--_muted);
    font-size: 10.5px;
  }
  .cell.lines::before {
    content: "↵";
    float: right;
    padding-left: 6px;
    color: var(--_muted);
  }
  .cell.not-finite {
    color: var(--_warn);
  }
  .cell.raw {
    color: var(--_warn);
    text-decoration: underline;
    text-decoration-style: dotted;
    text-underline-offset: 3px;
  }
  .cell.failed {
    color: var(--_muted);
    font-style: italic;
  }
  .cell.pending::before {
    content: "";
    display: inline-block;
    width: 62%;
    height: 7px;
    border-radius: 4px;
    background: var(--_skeleton);
    vertical-align: middle;
  }
  @media (forced-colors: active) {
    .row > .cell[aria-selected="true"],
    .row:hover > .cell[aria-selected="true"],
    .number.selected {
      forced-color-adjust: none;
      background: Highlight;
      color: HighlightText;
    }
    .row > .cell[aria-selected="true"]:focus {
      outline-color: HighlightText;
    }
    .row > .cell[data-mark],
    .row:hover > .cell[data-mark] {
      forced-color-adjust: none;
      background: Mark;
      color: MarkText;
    }
    .handle {
      forced-color-adjust: none;
      background: Highlight padding-box;
    }
    .thumb-tip {
      border: 1px solid CanvasText;
    }
    .cell:focus {
      outline: 2px solid Highlight;
      outline-offset: -2px;
    }
    .cell.null,
    .cell.empty::before {
      color: GrayText;
    }
    .cell.pending::before {
      background: GrayText;
    }
  }
`;
