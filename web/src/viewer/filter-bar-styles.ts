import { css } from "lit";

/** The active filters, above the rows. */
export const filterBarStyles = css`
  .chips {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
    padding: 6px 8px;
    border-bottom: 1px solid var(--_line-strong);
    background: var(--_surface);
    font-size: 12px;
  }
  .chip {
    display: inline-flex;
    align-items: center;
    max-width: 100%;
    height: 26px;
    border: 1px solid var(--_accent);
    border-radius: 13px;
    box-sizing: border-box;
    background: var(--_bg);
  }
  .chip > span {
    overflow: hidden;
    padding-inline-start: 10px;
    text-overflow: ellipsis;
    white-space: nowrap;
    unicode-bidi: plaintext;
  }
  .chip > button {
    width: 24px;
    height: 24px;
    padding: 0;
    border: 0;
    border-radius: 12px;
    background: none;
    color: var(--_muted);
  }
  .chips > button {
    border-color: transparent;
    background: none;
    color: var(--_muted);
  }
`;
