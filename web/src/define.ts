import { ColonnadeViewer } from "./viewer/viewer.js";

// Does nothing without a DOM, or if another copy of this package has registered the element.
if (globalThis.customElements?.get("colonnade-viewer") === undefined) {
  globalThis.customElements?.define("colonnade-viewer", ColonnadeViewer);
}

export { ColonnadeViewer };
