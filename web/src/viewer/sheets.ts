import { headerStyles } from "../grid/header-styles.js";
import { gridStyles } from "../grid/styles.js";
import { summaryStyles } from "../grid/summary-styles.js";
import { findStyles } from "./find-styles.js";
import { inspectorStyles } from "./inspector-styles.js";
import { panelStyles } from "./panel-styles.js";
import { viewerStyles } from "./styles.js";

/** All style sheets of the viewer, in the order in which they apply. */
export const sheets = [
  viewerStyles,
  gridStyles,
  headerStyles,
  summaryStyles,
  panelStyles,
  inspectorStyles,
  findStyles,
];
