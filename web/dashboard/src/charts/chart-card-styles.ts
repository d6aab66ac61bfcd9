import { css } from "lit";

/** Styles of a chart's card. */
export const cardStyles = css`
  :host {
    display: block;
    border-bottom: 1px solid var(--line-strong);
    padding: 12px 14px 14px;
  }
  header {
    display: flex;
    align-items: center;
    gap: 2px;
    margin-bottom: 8px;
  }
  h3 {
    flex: 1;
    min-width: 0;
    margin: 0;
    overflow: hidden;
    font-size: 13px;
    font-weight: 650;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  button {
    font: inherit;
    color: inherit;
  }
  header button {
    height: 26px;
    padding: 0 7px;
    border: 0;
    border-radius: 6px;
    background: none;
    color: var(--muted);
    font-size: 11.5px;
    cursor: pointer;
  }
  header button:hover {
    background: var(--hover);
    color: var(--text);
  }
  header button[aria-pressed="true"] {
    background: var(--selected);
    color: var(--text);
  }
  header button[aria-disabled="true"] {
    opacity: 0.55;
    cursor: default;
  }
  .close {
    display: grid;
    place-items: center;
    width: 26px;
  }
  .close svg {
    fill: none;
    stroke: currentColor;
    stroke-width: 1.5;
    stroke-linecap: round;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 1px;
  }
  .controls {
    display: grid;
    grid-template-columns: repeat(3, minmax(0, 1fr));
    gap: 6px 8px;
    margin-bottom: 10px;
  }
  .controls:has(label:nth-child(4):last-child) {
    grid-template-columns: repeat(4, minmax(0, 1fr));
  }
  label {
    display: flex;
    flex-direction: column;
    gap: 2px;
    min-width: 0;
  }
  label span {
    color: var(--muted);
    font-size: 11px;
  }
  select {
    width: 100%;
    height: 28px;
    padding: 0 4px;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    background: var(--bg);
    color: var(--text);
    font: inherit;
    font-size: 12px;
    text-overflow: ellipsis;
  }
  .stage {
    position: relative;
    min-height: 130px;
  }
  .stale chart-figure {
    opacity: 0.55;
  }
  .busy {
    position: absolute;
    inset: -6px 0 auto;
    height: 2px;
    overflow: hidden;
  }
  .busy::after {
    content: "";
    display: block;
    width: 30%;
    height: 100%;
    background: var(--accent);
    animation: sweep 1.2s ease-in-out infinite;
  }
  @keyframes sweep {
    from {
      transform: translateX(-100%);
    }
    to {
      transform: translateX(340%);
    }
  }
  .note {
    display: grid;
    place-content: center;
    justify-items: center;
    gap: 8px;
    min-height: 130px;
    padding: 8px 12px;
    color: var(--muted);
    text-align: center;
  }
  .note.slow {
    min-height: 0;
    padding: 2px 0 8px;
    grid-auto-flow: column;
    align-items: center;
  }
  .note p {
    margin: 0;
    overflow-wrap: anywhere;
  }
  .note .error {
    color: var(--danger);
  }
  .note button,
  .clear {
    height: 26px;
    padding: 0 10px;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    background: var(--bg);
    font-size: 12px;
    cursor: pointer;
  }
  .clear {
    margin-top: 8px;
  }
  .clear:hover,
  .note button:hover {
    background: var(--hover);
  }
  .summary {
    margin: 6px 0 0;
    color: var(--muted);
    font-size: 11.5px;
    line-height: 1.4;
    font-variant-numeric: tabular-nums;
    overflow-wrap: anywhere;
  }
  .table {
    max-height: 260px;
    overflow: auto;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    scrollbar-width: thin;
  }
  table {
    width: 100%;
    border-collapse: collapse;
    font-size: 12px;
    font-variant-numeric: tabular-nums;
  }
  th,
  td {
    padding: 3px 10px;
    text-align: right;
    white-space: nowrap;
  }
  th:first-child {
    text-align: left;
  }
  tbody th {
    font-weight: 400;
  }
  thead th {
    position: sticky;
    top: 0;
    background: var(--surface);
    color: var(--muted);
    font-weight: 550;
  }
  tbody tr {
    border-top: 1px solid var(--line);
  }
  .table p {
    margin: 6px 10px;
    color: var(--muted);
  }
  @media (prefers-reduced-motion: reduce) {
    .busy::after {
      width: 100%;
      animation: none;
    }
  }
`;
