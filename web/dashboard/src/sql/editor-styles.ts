import { css } from "lit";

/** Styles of the text field that the editor replaces; it has the editor's font and padding. */
export const editorStyles = css`
  :host {
    display: block;
    min-width: 0;
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
  }
  textarea:focus-visible {
    outline: none;
  }
  /* An empty editor has one line, which would cut a second one through its letters. */
  textarea:placeholder-shown,
  ::placeholder {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  ::placeholder {
    color: var(--muted);
    opacity: 1;
  }
`;
