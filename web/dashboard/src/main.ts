import "colonnade/define";
import { TablesList } from "./catalog/tables-list.js";
import { Dashboard } from "./dashboard.js";
import { SqlEditor } from "./sql/sql-editor.js";
import { SqlPanel } from "./sql/sql-panel.js";
import { StatementTabs } from "./sql/statement-tabs.js";
import { applyTheme, loadTheme } from "./theme.js";

applyTheme(loadTheme());
customElements.define("tables-list", TablesList);
customElements.define("sql-editor", SqlEditor);
customElements.define("sql-panel", SqlPanel);
customElements.define("statement-tabs", StatementTabs);
customElements.define("colonnade-dashboard", Dashboard);
