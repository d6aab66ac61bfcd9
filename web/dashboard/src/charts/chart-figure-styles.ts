import { css } from "lit";

/**
 * The colours of inks. The first series has the page's accent; all series can be distinguished with
 * colour-vision deficiencies and have a contrast of at least 3:1 to either background.
 */
export const inkStyles = css`
  :host {
    --c-text: var(--text);
    --c-muted: var(--muted);
    --c-grid: var(--line);
    --c-axis: light-dark(#b9bcc6, #565b68);
    --c-surface: var(--bg);
    --c-series0: var(--accent, light-dark(#3557d6, #8ea2ff));
    --c-series1: light-dark(#c2570c, #f59e54);
    --c-series2: light-dark(#00806a, #37c6a6);
    --c-series3: light-dark(#b02a8b, #f08bd2);
    --c-series4: light-dark(#7a5c00, #d9bd4f);
    --c-series5: light-dark(#0b7fab, #62c8f2);
    --c-others: light-dark(#7c818d, #888d99);
  }
  @media (forced-colors: active) {
    :host {
      --c-text: CanvasText;
      --c-muted: CanvasText;
      --c-grid: GrayText;
      --c-axis: CanvasText;
      --c-surface: Canvas;
      --c-series0: LinkText;
      --c-others: GrayText;
    }
    svg {
      forced-color-adjust: none;
    }
    .s-grid {
      stroke-opacity: 0.4;
    }
  }
  .f-none { fill: none; }
  .f-text { fill: var(--c-text); }
  .f-muted { fill: var(--c-muted); }
  .f-grid { fill: var(--c-grid); }
  .f-axis { fill: var(--c-axis); }
  .f-surface { fill: var(--c-surface); }
  .f-series0 { fill: var(--c-series0); }
  .f-series1 { fill: var(--c-series1); }
  .f-series2 { fill: var(--c-series2); }
  .f-series3 { fill: var(--c-series3); }
  .f-series4 { fill: var(--c-series4); }
  .f-series5 { fill: var(--c-series5); }
  .f-others { fill: var(--c-others); }
  .s-surface {
    stroke: var(--c-surface);
  }
  .s-grid { stroke: var(--c-grid); }
  .s-axis { stroke: var(--c-axis); }
  .s-series0 { stroke: var(--c-series0); }
  .s-series1 { stroke: var(--c-series1); }
  .s-series2 { stroke: var(--c-series2); }
  .s-series3 { stroke: var(--c-series3); }
  .s-series4 { stroke: var(--c-series4); }
  .s-series5 { stroke: var(--c-series5); }
  .s-others { stroke: var(--c-others); }
`;

const layout = css`
  :host {
    display: block;
    position: relative;
    min-height: 120px;
  }
  .chart {
    position: relative;
    border-radius: 6px;
    cursor: crosshair;
    touch-action: pan-y;
    user-select: none;
    -webkit-user-select: none;
    outline-offset: 3px;
  }
  .chart.down {
    cursor: default;
  }
  .chart:focus-visible {
    outline: 2px solid var(--c-series0);
  }
  svg {
    display: block;
    overflow: visible;
    font-family: inherit;
    font-variant-numeric: tabular-nums;
  }
  path {
    stroke-linejoin: round;
  }
  .brush {
    fill: var(--c-series0);
    fill-opacity: 0.08;
    stroke: var(--c-series0);
    stroke-width: 1;
  }
  .guide {
    fill: none;
    stroke: var(--c-axis);
    stroke-width: 1;
  }
  .halo {
    stroke: var(--c-surface);
    stroke-width: 2;
  }
  .tip {
    position: absolute;
    inset: 0 auto auto 0;
    z-index: 2;
    max-width: 280px;
    padding: 6px 9px 7px;
    border: 1px solid var(--line-strong);
    border-radius: 7px;
    background: var(--c-surface);
    box-shadow: 0 4px 14px light-dark(rgb(20 22 30 / 0.12), rgb(0 0 0 / 0.5));
    color: var(--c-text);
    font-size: 12px;
    line-height: 1.45;
    font-variant-numeric: tabular-nums;
    pointer-events: none;
    width: max-content;
  }
  .tip-title {
    color: var(--c-muted);
    font-size: 11.5px;
  }
  .tip-line {
    display: flex;
    align-items: baseline;
    gap: 6px;
  }
  .tip-line.current .tip-name {
    font-weight: 650;
  }
  .tip-name {
    flex: 1;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .tip-value {
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  .tip-rows {
    color: var(--c-muted);
    font-size: 11.5px;
    white-space: nowrap;
  }
  .unseen {
    position: absolute;
    top: 0;
    width: 1px;
    height: 1px;
    margin: -1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;

/** Styles of a chart. */
export const figureStyles = [inkStyles, layout];
