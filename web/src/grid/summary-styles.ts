import { css } from "lit";

/** Column summaries, in the lower part of the header's cells. */
export const summaryStyles = css`
  .summary {
    position: absolute;
    inset: auto 10px 3px;
    height: 55px;
    color: var(--_muted);
    font-size: 10.5px;
    font-variant-numeric: tabular-nums;
    line-height: 13px;
    text-align: left;
    white-space: nowrap;
  }
  .summary[hidden],
  .plot[hidden] {
    display: none;
  }
  .plot {
    height: 24px;
    outline: none;
    touch-action: pan-y;
    border-bottom: 1px solid var(--_line-strong);
  }
  .plot.choosable {
    cursor: crosshair;
  }
  .plot:focus:not(.pointed) {
    box-shadow: 0 0 0 2px var(--_accent);
  }
  .plot svg {
    display: block;
    width: 100%;
    height: 24px;
  }
  .plot .all {
    fill: color-mix(in srgb, var(--_accent) 50%, var(--_surface));
  }
  .plot .compared .all {
    fill: var(--_line-strong);
  }
  .plot .shown {
    fill: var(--_accent);
  }
  .plot .range {
    fill: color-mix(in srgb, var(--_accent) 16%, transparent);
  }
  .axis {
    display: flex;
    justify-content: space-between;
    gap: 4px;
    height: 14px;
  }
  .axis,
  .caption {
    /* A press is never on a text that a new summary replaces: its click would be lost. */
    pointer-events: none;
  }
  .axis > span,
  .caption > span {
    overflow: hidden;
    text-overflow: ellipsis;
  }
  .caption {
    display: flex;
    flex-wrap: wrap;
    column-gap: 4px;
    height: 13px;
    margin-bottom: 3px;
    overflow: hidden;
  }
  .header-cell.end .caption {
    justify-content: flex-end;
  }
  .axis > span:first-child {
    color: var(--_text);
  }
  .axis > span:last-child {
    color: var(--_text);
    flex: none;
    /* A share always fits: a cut one, such as "10…" of "100 %", would be another number. */
    max-width: max(60%, 5.6ch);
  }
  .axis > span:empty {
    display: none;
  }
  .readout {
    position: absolute;
    z-index: 3;
    max-width: calc(100% - 8px);
    padding: 6px 9px;
    box-sizing: border-box;
    overflow: hidden;
    border: 1px solid var(--_line-strong);
    border-radius: 6px;
    background: var(--_bg);
    box-shadow: 0 4px 16px rgb(0 0 0 / 14%);
    color: var(--_muted);
    font-size: 11.5px;
    font-variant-numeric: tabular-nums;
    line-height: 1.45;
    text-overflow: ellipsis;
    white-space: nowrap;
    pointer-events: none;
  }
  .readout[hidden] {
    display: none;
  }
  .readout > div {
    overflow: hidden;
    text-overflow: ellipsis;
  }
  .readout > :first-child {
    color: var(--_text);
    font-weight: 600;
  }
  .readout > :nth-child(2) {
    color: var(--_text);
  }
  @media (forced-colors: active) {
    .plot .all {
      fill: CanvasText;
    }
    .plot .compared .all {
      fill: GrayText;
    }
    .plot .shown,
    .plot .range {
      fill: Highlight;
    }
    .plot .range {
      fill-opacity: 0.4;
    }
    .plot:focus:not(.pointed) {
      outline: 2px solid Highlight;
    }
  }
`;
