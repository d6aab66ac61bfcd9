import { css } from "lit";

/** Styles of the panel around the charts. */
export const panelStyles = css`
  :host {
    display: block;
    overflow: auto;
    background: var(--bg);
    scrollbar-width: thin;
    scrollbar-color: var(--line-strong) transparent;
  }
  :host([hidden]) {
    display: none;
  }
  header {
    position: sticky;
    top: 0;
    z-index: 3;
    display: flex;
    align-items: center;
    gap: 6px;
    min-height: 40px;
    padding: 0 8px 0 14px;
    border-bottom: 1px solid var(--line-strong);
    background: var(--surface);
  }
  h2 {
    flex: 1;
    margin: 0;
    font-size: 13px;
    font-weight: 650;
  }
  button {
    height: 26px;
    padding: 0 9px;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    background: var(--bg);
    color: inherit;
    font: inherit;
    font-size: 12px;
    white-space: nowrap;
    cursor: pointer;
  }
  button:hover {
    background: var(--hover);
  }
  button[aria-disabled="true"] {
    color: var(--muted);
    cursor: default;
  }
  button:focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 1px;
  }
  .close {
    display: grid;
    place-items: center;
    width: 28px;
    height: 28px;
    padding: 0;
    border: 0;
    background: none;
    color: var(--muted);
  }
  .close svg {
    fill: none;
    stroke: currentColor;
    stroke-width: 1.5;
    stroke-linecap: round;
  }
  .note {
    margin: 0;
    padding: 24px 20px;
    color: var(--muted);
    text-align: center;
  }
`;
