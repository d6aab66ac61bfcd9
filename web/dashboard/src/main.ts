import "colonnade/define";
import { ChartDrawer } from "./charts/drawer.js";
import { Dashboard } from "./dashboard.js";
import { SqlBox } from "./sql-box.js";
import { TablesList } from "./tables-list.js";
import { applyTheme, loadTheme } from "./theme.js";

applyTheme(loadTheme());
customElements.define("tables-list", TablesList);
customElements.define("sql-box", SqlBox);
customElements.define("chart-drawer", ChartDrawer);
customElements.define("colonnade-dashboard", Dashboard);
