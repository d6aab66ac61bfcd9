// The panels of columns, loaded when one first opens.
export { columnActions } from "./column-actions.js";
export { pinnedColumn, withColumn, withoutColumn } from "./column-changes.js";
export { ColumnMenu } from "./column-menu.js";
export { columnPicker } from "./column-picker.js";
export { closePanel, openPanel } from "./panel.js";
export { panelStyles as styles } from "./panel-styles.js";
