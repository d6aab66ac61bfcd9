import { css } from "lit";

/** How the editor looks, before its library is there and after. */
export const editorStyles = css`
  :host {
    display: block;
    min-width: 0;
    background: var(--bg);
  }
  textarea {
    display: block;
    box-sizing: border-box;
    width: 100%;
    height: 100%;
    padding: 10px 16px;
    border: 0;
    background: none;
    color: inherit;
    font: 13px / 1.55 var(--mono);
    resize: none;
    tab-size: 2;
  }
  textarea:focus-visible {
    outline: none;
  }
  ::placeholder {
    color: var(--muted);
    opacity: 1;
  }
`;
