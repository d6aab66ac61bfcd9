import { css } from "lit";

/** The panels in the page's top layer. */
export const panelStyles = css`
  .panel {
    position: fixed;
    inset: auto;
    --_control: 28px;
    width: 264px;
    max-width: calc(100vw - 16px);
    max-height: calc(100vh - 16px);
    margin: 0;
    padding: 0;
    overflow: auto;
    box-sizing: border-box;
    border: 1px solid var(--_line-strong);
    border-radius: 8px;
    background: var(--_bg);
    color: var(--_text);
    font: 13px / 1.4 var(--_font);
    box-shadow:
      0 1px 2px rgb(0 0 0 / 8%),
      0 8px 28px rgb(0 0 0 / 16%);
  }
  .panel > * {
    padding: 10px;
  }
  .panel > * + * {
    border-top: 1px solid var(--_line);
  }
  .choices {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
  }
  .choices > button {
    flex: 1 0 40%;
    white-space: nowrap;
  }
  :is(.picker, .values) .choices > button {
    flex: none;
  }
  .panel form {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 8px;
  }
  .panel .chip {
    justify-self: start;
  }
  .panel .warning {
    margin: 0;
    white-space: normal;
  }
  .panel label {
    display: flex;
    align-items: center;
    gap: 8px;
  }
  .panel label > span {
    width: 3em;
    color: var(--_muted);
  }
  .panel .bound {
    display: flex;
    gap: 4px;
  }
  .panel .bound label {
    flex: 1;
    min-width: 0;
  }
  .panel input[type="date"]::-webkit-datetime-edit {
    display: none;
  }
  .panel input[type="date"]::-webkit-calendar-picker-indicator {
    margin: 0;
  }
  .panel .check {
    gap: 5px;
    min-height: 24px;
    margin-inline-end: 6px;
  }
  .panel input:not([type="checkbox"], [type="radio"]) {
    flex: 1;
    width: auto;
    min-width: 0;
  }
  .panel .bound input[type="date"] {
    flex: none;
    width: 28px;
    padding-inline: 5px;
    overflow: hidden;
  }
  .panel :is([type="checkbox"], [type="radio"]) {
    width: 14px;
    height: 14px;
    margin: 0;
    accent-color: var(--_accent);
  }
  /* Not the browser's: in the dark, WebKitGTK fills the ones that are not chosen with white. */
  .panel [type="radio"] {
    box-sizing: border-box;
    padding: 0;
    appearance: none;
    border: 1px solid var(--_muted);
    border-radius: 50%;
  }
  .panel [type="radio"]:checked {
    border: 4px solid var(--_accent);
  }
  .panel select {
    height: var(--_control);
    border: 1px solid var(--_line-strong);
    border-radius: 6px;
    background: var(--_bg);
    color: var(--_text);
    font: inherit;
  }
  .panel button[aria-pressed="true"],
  .panel button.main {
    border-color: var(--_accent);
    color: var(--_accent);
  }
  .panel button:disabled {
    color: var(--_muted);
    cursor: default;
    opacity: 0.6;
  }
  .panel select:focus-visible,
  .panel :is([type="checkbox"], [type="radio"]):focus-visible {
    outline: 2px solid var(--_accent);
    outline-offset: 1px;
  }

  .panel .list {
    display: grid;
    align-content: start;
    gap: 6px;
    max-height: 320px;
    overflow: auto;
  }
  .panel .note {
    min-height: 15px;
    margin: 0;
    color: var(--_muted);
    font-size: 11px;
  }
  .panel .list b {
    overflow: hidden;
    font-weight: 500;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .panel .list :is(b, small) {
    unicode-bidi: isolate;
  }
  .panel .check small,
  .picker small {
    overflow: hidden;
    color: var(--_muted);
    font-size: 11px;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  .values {
    display: grid;
    gap: 6px;
  }
  /* Its height does not change, because the panel was placed before the values came. */
  .values .list {
    gap: 0;
    height: 168px;
  }
  .values .list b {
    white-space: pre;
  }
  .values .list .check {
    margin: 0;
  }
  .values .list small {
    flex: none;
    margin-inline-start: auto;
    padding-inline: 8px 12px;
  }
  .values .list .unusual {
    color: var(--_muted);
    font-style: italic;
  }

  @media (pointer: coarse) {
    .panel {
      --_control: 34px;
    }
    .panel .check {
      min-height: 32px;
    }
  }
`;
