// Says what an old browser lacks. The page runs this before its modules, as a classic script in old syntax:
// see `oldBrowser` in `vite.config.ts`.

import { missingFeatures } from "../../src/model/needs.js";
import { needsText } from "../../src/model/needs-text.js";

const missing = missingFeatures();
if (missing.length > 0) {
  const text = document.createElement("p");
  text.className = "notice";
  text.setAttribute("role", "alert");
  text.textContent = needsText(missing);
  document.body.textContent = "";
  document.body.appendChild(text);
}
