import { ColonnadeViewer } from "./viewer/viewer.js";

/** Registers `<colonnade-viewer>`. Harmless when some other copy of this package already did. */
if (customElements.get("colonnade-viewer") === undefined) {
  customElements.define("colonnade-viewer", ColonnadeViewer);
}

export { ColonnadeViewer };
