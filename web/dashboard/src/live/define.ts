import { HelpSheet } from "../help/help-sheet.js";
import { PrintSheet } from "../print/print-sheet.js";
import { QueriesPanel } from "../queries/queries-panel.js";
import { ServerWatch } from "../reconnect/server-watch.js";

customElements.define("queries-panel", QueriesPanel);
customElements.define("help-sheet", HelpSheet);
customElements.define("server-watch", ServerWatch);
customElements.define("print-sheet", PrintSheet);
