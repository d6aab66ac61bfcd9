import "colonnade/define";
import wasmSrc from "colonnade/wasm?url";
import workerSrc from "colonnade/worker?url";

const viewer = document.createElement("colonnade-viewer");
Object.assign(viewer, { workerSrc, wasmSrc, src: "http://localhost:7878/v1/tables/flights/rows" });
document.body.append(viewer);
