// The whole package in one file, for a CDN, a notebook or a plain page.

import { wasm, worker } from "virtual:embedded";
import { setWorkerCode } from "./api/start-worker.js";
import { serve } from "./worker.js";

let workerUrl: string | undefined;
let module: Promise<Uint8Array<ArrayBuffer>> | undefined;

setWorkerCode({
  make: () => {
    workerUrl ??= URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
    return new Worker(workerUrl, { type: "module", name: "colonnade" });
  },
  load: async () => ({ serve }),
  wasm: () => {
    module ??= inflate(wasm);
    return module;
  },
});

async function inflate(base64: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export { ColonnadeViewer } from "./define.js";
export * from "./index.js";
