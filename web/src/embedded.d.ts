declare module "virtual:embedded" {
  /** The text of `worker.js`. */
  export const worker: string;
  /** `colonnade.wasm`: base64 of gzip. */
  export const wasm: string;
}
