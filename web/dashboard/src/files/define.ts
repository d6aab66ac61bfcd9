import { CodeDialog } from "./code-dialog.js";
import { ExportMenu } from "./export-menu.js";
import { FileTray } from "./file-tray.js";
import { RemoveTable } from "./remove-table.js";

customElements.define("file-tray", FileTray);
customElements.define("export-menu", ExportMenu);
customElements.define("code-dialog", CodeDialog);
customElements.define("remove-table", RemoveTable);
