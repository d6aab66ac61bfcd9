import { css } from "lit";

/** The cells of the header: name, type, sort mark and menu button. */
export const headerStyles = css`
  .header-cell {
    position: absolute;
    top: 0;
    bottom: 0;
    left: 0;
    display: grid;
    grid-template: 1fr auto auto 1fr / minmax(0, 1fr) auto;
    padding: 0 10px;
    box-sizing: border-box;
    border-right: 1px solid var(--_line);
    background: var(--_surface);
    line-height: 1.3;
    cursor: default;
    outline: none;
  }
  .header-cell[aria-sort] {
    cursor: pointer;
  }
  .header-cell.end {
    text-align: right;
  }
  .header-cell:hover {
    background: var(--_hover);
  }
  .header-cell:focus {
    box-shadow: inset 0 0 0 2px var(--_accent);
  }
  .name,
  .type {
    grid-column: 1;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: pre;
    unicode-bidi: plaintext;
    text-align: left;
  }
  .header-cell.end > :is(.name, .type) {
    text-align: right;
  }
  .name {
    grid-row: 2;
    font-weight: 600;
  }
  .type {
    grid-row: 3;
    grid-column: 1 / 3;
    color: var(--_muted);
    font-size: 11px;
  }
  .sort:not(:empty) {
    grid-area: 2 / 2;
    padding-left: 4px;
    color: var(--_accent);
    font-weight: 600;
    font-variant-numeric: tabular-nums;
  }
  .header-cell.filtered .name::before {
    content: "";
    display: inline-block;
    width: 6px;
    height: 6px;
    margin-right: 5px;
    border-radius: 50%;
    background: var(--_accent);
    vertical-align: middle;
  }
  .header-cell .menu {
    position: absolute;
    right: 5px;
    bottom: 1px;
    display: none;
    width: 26px;
    height: 24px;
    padding: 0;
    border-radius: 5px;
    line-height: 1;
  }
  .header-cell.end .menu {
    right: auto;
    left: 5px;
  }
  .header-cell .menu::before {
    content: "⋯";
  }
  .header-cell:hover .menu,
  .header-cell:focus .menu,
  .header-cell.open .menu {
    display: block;
  }
  /* Without a hovering pointer the menu button is always shown, beside the texts and large enough to tap. */
  @media (hover: none) {
    .header-cell {
      padding-right: 36px;
    }
    .header-cell.end {
      padding: 0 10px 0 36px;
    }
    .header-cell .menu {
      display: block;
      top: 50%;
      right: 2px;
      bottom: auto;
      width: 32px;
      height: 32px;
      translate: 0 -50%;
      border-color: transparent;
      background: none;
      font-size: 17px;
    }
    .header-cell.end .menu {
      left: 2px;
    }
  }
  .header-cell.dragged {
    opacity: 0.5;
  }
  .header-cell.drop-before {
    box-shadow: inset 3px 0 0 var(--_accent);
  }
  .header-cell.drop-after {
    box-shadow: inset -3px 0 0 var(--_accent);
  }
  .edge {
    position: absolute;
    top: 0;
    right: 0;
    bottom: 0;
    width: 7px;
    z-index: 1;
    cursor: col-resize;
    touch-action: none;
  }
  @media (forced-colors: active) {
    .header-cell:focus {
      outline: 2px solid Highlight;
      outline-offset: -2px;
    }
    .header-cell.filtered .name::before {
      forced-color-adjust: none;
      background: Highlight;
    }
  }
  .head.summaries .header-cell {
    padding-bottom: 58px;
  }
  .head.summaries .header-cell .menu {
    bottom: 62px;
  }
  @media (hover: none) {
    .head.summaries .header-cell .menu {
      top: calc(50% - 29px);
    }
  }
  .grid:has(.head.summaries) ~ .message.below-header {
    top: 104px;
  }
`;
