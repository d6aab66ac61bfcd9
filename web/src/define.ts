import { ColonnadeViewer } from "./viewer/viewer.js";

// Harmless where there is no DOM, and when some other copy of this package already did.
if (globalThis.customElements?.get("colonnade-viewer") === undefined) {
  globalThis.customElements?.define("colonnade-viewer", ColonnadeViewer);
}

export { ColonnadeViewer };
