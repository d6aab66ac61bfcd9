import { css } from "lit";

/** The inspector's dialog. */
export const inspectorStyles = css`
  .inspector {
    display: flex;
    flex-direction: column;
    width: min(720px, calc(100vw - 32px));
    max-height: min(80vh, 720px);
    padding: 0;
    box-sizing: border-box;
    border: 1px solid var(--_line-strong);
    border-radius: 10px;
    background: var(--_bg);
    color: var(--_text);
    box-shadow: 0 12px 40px rgb(0 0 0 / 25%);
  }
  .inspector:not([open]) {
    display: none;
  }
  .inspector::backdrop {
    background: rgb(0 0 0 / 30%);
  }
  .inspector header,
  .inspector footer {
    flex: none;
    padding: 10px 16px;
    background: var(--_surface);
  }
  .inspector header {
    border-bottom: 1px solid var(--_line-strong);
  }
  .inspector footer {
    display: flex;
    justify-content: flex-end;
    align-items: center;
    gap: 8px;
    border-top: 1px solid var(--_line-strong);
  }
  .inspector footer [role="status"] {
    flex: 1;
    color: var(--_muted);
    font-size: 12px;
  }
  .inspector :is(h2, header p, .kind) {
    unicode-bidi: plaintext;
  }
  .inspector header > :dir(rtl) {
    text-align: right;
  }
  .inspector h2 {
    margin: 0;
    font-size: 14px;
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  .inspector header p,
  .inspector .kind {
    margin: 0;
    color: var(--_muted);
    font-size: 12px;
    overflow-wrap: anywhere;
  }
  .whole {
    flex: 1;
    min-height: 4em;
    padding: 12px 16px;
    overflow: auto;
    font: 12.5px / 1.55 var(--_mono);
  }
  .whole:focus-visible {
    outline: 2px solid var(--_accent);
    outline-offset: -2px;
  }
  .whole pre {
    margin: 0;
    font: inherit;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    unicode-bidi: plaintext;
  }
  .whole .hex {
    margin-top: 8px;
    white-space: pre;
  }
  .whole img {
    display: block;
    max-width: 100%;
    max-height: 320px;
    margin-top: 8px;
  }
  .whole img[hidden] {
    display: none;
  }
  .tree details > *:not(summary) {
    margin-inline-start: 18px;
  }
  .tree summary {
    cursor: pointer;
  }
  .tree .leaf {
    padding-inline-start: 15px;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
  }
  .tree .key {
    color: var(--_accent);
  }
  .tree .add {
    min-height: 0;
    margin-inline-start: 8px;
    padding: 0 6px;
    border: 0;
    background: none;
    color: var(--_accent);
    font: inherit;
  }
  .branch {
    position: relative;
  }
  .branch > .add {
    position: absolute;
    inset-inline-end: 0;
  }
  @media (hover: hover) {
    .tree :not(:hover) > .add:not(:focus-visible) {
      opacity: 0;
    }
  }
  .tree .size {
    color: var(--_muted);
  }
`;
