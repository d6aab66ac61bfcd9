import { css } from "lit";

/** The find bar. */
export const findStyles = css`
  .find {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 6px;
    padding-block: 6px;
    padding-inline: 14px 8px;
    border-bottom: 1px solid var(--_line-strong);
    background: var(--_surface);
    font-size: 12px;
  }
  .find > input {
    flex: 0 1 22em;
    min-width: 8em;
  }
  .find label {
    display: flex;
    align-items: center;
    gap: 5px;
    min-height: 26px;
    white-space: nowrap;
  }
  .find input[type="checkbox"] {
    width: auto;
    height: auto;
    margin: 0;
    accent-color: var(--_accent);
  }
  .found {
    flex: 1;
    min-width: 8em;
    overflow: hidden;
    color: var(--_muted);
    font-variant-numeric: tabular-nums;
    text-overflow: ellipsis;
    white-space: nowrap;
    unicode-bidi: plaintext;
  }
  .find > button {
    min-width: 30px;
  }
  .find > button:disabled {
    color: var(--_muted);
    cursor: default;
    opacity: 0.6;
  }
  @container (max-width: 440px) {
    .find {
      position: relative;
    }
    .find > input {
      flex: 1 1 100%;
      margin-inline-end: 40px;
    }
    .find > button:last-child {
      position: absolute;
      inset-block-start: 6px;
      inset-inline-end: 8px;
    }
  }
  @media (pointer: coarse) {
    .find {
      --_control: 32px;
    }
    .find label {
      min-height: 32px;
    }
  }
`;
