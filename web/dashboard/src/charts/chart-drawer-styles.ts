import { css } from "lit";

/** Styles of the chart drawer: at the right of the rows, or below them on a narrow page. */
export const drawerStyles = css`
  :host {
    display: flex;
    flex: none;
    min-width: 0;
    min-height: 0;
    border-left: 1px solid var(--line-strong);
  }
  :host([hidden]) {
    display: none;
  }
  chart-panel,
  .note {
    width: clamp(340px, 34vw, 520px);
  }
  .rail {
    padding: 6px 4px;
    background: var(--surface);
  }
  .rail[hidden] {
    display: none;
  }
  .rail button {
    display: grid;
    justify-items: center;
    gap: 3px;
    padding: 7px 5px 6px;
    border: 0;
    border-radius: 7px;
    background: none;
    color: var(--muted);
    font: inherit;
    font-size: 11px;
    cursor: pointer;
  }
  .rail button:hover {
    background: var(--hover);
    color: var(--text);
  }
  button:focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 1px;
  }
  svg {
    fill: none;
    stroke: currentColor;
    stroke-width: 1.5;
    stroke-linecap: round;
  }
  .note {
    display: grid;
    place-content: center;
    justify-items: center;
    padding: 16px;
    color: var(--muted);
    text-align: center;
  }
  @media (max-width: 960px) {
    :host {
      max-height: 55%;
      border-top: 1px solid var(--line-strong);
      border-left: 0;
    }
    chart-panel,
    .note {
      width: 100%;
    }
    .rail {
      width: 100%;
      padding: 4px 8px;
    }
    .rail button {
      grid-auto-flow: column;
      align-items: center;
      gap: 6px;
      font-size: 12px;
    }
  }
`;
