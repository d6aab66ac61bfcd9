// What opens at the columns: loaded when it is first used.
export { ColumnMenu } from "./column-menu.js";
export { columnPicker } from "./column-picker.js";
export { panelStyles as styles } from "./panel-styles.js";
