import "colonnade/define";
import { TablesList } from "./catalog/tables-list.js";
import { ChartDrawer } from "./charts/chart-drawer.js";
import { TableDetails } from "./details/table-details.js";
import { CodeDialog } from "./files/code-dialog.js";
import { ExportMenu } from "./files/export-menu.js";
import { FileTray } from "./files/file-tray.js";
import { RemoveTable } from "./files/remove-table.js";
import { HelpSheet } from "./help/help-sheet.js";
import { Dashboard } from "./page/dashboard.js";
import { PrintSheet } from "./print/print-sheet.js";
import { QueriesPanel } from "./queries/queries-panel.js";
import { ReadAsMenu } from "./readings/read-as-menu.js";
import { ServerWatch } from "./reconnect/server-watch.js";
import { SignIn, SignOut } from "./session/sign-in.js";
import { applyTheme, loadTheme } from "./shell/theme.js";
import { HistoryDialog } from "./sql/history-dialog.js";
import { PlanPanel } from "./sql/plan-panel.js";
import { SqlEditor } from "./sql/sql-editor.js";
import { SqlPanel } from "./sql/sql-panel.js";
import { StatementTabs } from "./sql/statement-tabs.js";

applyTheme(loadTheme());
for (const [name, element] of Object.entries({
  "tables-list": TablesList,
  "sql-editor": SqlEditor,
  "sql-panel": SqlPanel,
  "history-dialog": HistoryDialog,
  "plan-panel": PlanPanel,
  "table-details": TableDetails,
  "read-as-menu": ReadAsMenu,
  "statement-tabs": StatementTabs,
  "chart-drawer": ChartDrawer,
  "queries-panel": QueriesPanel,
  "help-sheet": HelpSheet,
  "server-watch": ServerWatch,
  "print-sheet": PrintSheet,
  "file-tray": FileTray,
  "export-menu": ExportMenu,
  "code-dialog": CodeDialog,
  "remove-table": RemoveTable,
  "sign-in": SignIn,
  "sign-out": SignOut,
  "colonnade-dashboard": Dashboard,
})) {
  customElements.define(name, element);
}
