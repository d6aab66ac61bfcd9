import { css } from "lit";

/** The space for column summaries in the lower part of the header's cells. */
export const summaryStyles = css`
  .head.summaries .header-cell {
    padding-bottom: 58px;
  }
  .head.summaries .header-cell .menu {
    bottom: 62px;
  }
  .grid:has(.head.summaries) ~ .message.below-header {
    top: 104px;
  }
`;
