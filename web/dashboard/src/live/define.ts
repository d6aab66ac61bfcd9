import { HelpSheet } from "./help-sheet.js";
import { PrintSheet } from "./print-sheet.js";
import { QueriesPanel } from "./queries-panel.js";
import { ServerWatch } from "./server-watch.js";

customElements.define("queries-panel", QueriesPanel);
customElements.define("help-sheet", HelpSheet);
customElements.define("server-watch", ServerWatch);
customElements.define("print-sheet", PrintSheet);
