import init, { Decoder } from "../../pkg/colonnade_wasm.js";
import { ColonnadeError } from "../model/errors.js";
import type { Requests, WasmModule } from "../rpc/messages.js";
import { BodyDecoder } from "./body-decoder.js";

/** One module for all tables of a thread. */
let loading: ReturnType<typeof init> | undefined;
let memory: WebAssembly.Memory | undefined;

/** The memory of the module in this thread, in bytes. It does not shrink when decoders are freed. */
export function moduleBytes(): number {
  return memory?.buffer.byteLength ?? 0;
}

/** Makes a decoder. The module is loaded once. Rejects with `wasm_unavailable`. */
export async function loadDecoder(
  memoryBytes: number,
  wasm: Requests["module"]["params"]["wasm"],
  onCrash: (error: ColonnadeError) => void,
): Promise<BodyDecoder> {
  // Bundlers recognise this expression and emit the file; this package's own build leaves it alone.
  const address = wasm ?? new URL(/* @vite-ignore */ "./colonnade.wasm", import.meta.url).href;
  try {
    loading ??= readModule(address).then(async (module) => {
      const instance = await init({ module_or_path: module });
      Decoder.warmUp();
      return instance;
    });
    ({ memory } = await loading);
    return new BodyDecoder(new Decoder(memoryBytes), memory, onCrash);
  } catch (thrown) {
    loading = undefined;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ColonnadeError(
      "wasm_unavailable",
      `Could not load ${typeof address === "string" ? address : "the module"}: ${reason}`,
      {
        hint: "Serve colonnade.wasm beside worker.js, or name it with wasm-src; the page's policy must allow 'wasm-unsafe-eval'.",
      },
    );
  }
}

/** The module, or a response with its bytes; Node's `fetch` does not read files. */
async function readModule(address: string | WasmModule): Promise<Response | WasmModule> {
  if (typeof address !== "string") return address;
  const fs = address.startsWith("file:") ? globalThis.process?.getBuiltinModule?.("fs") : undefined;
  return fs === undefined
    ? fetch(address)
    : new Uint8Array(await fs.promises.readFile(new URL(address)));
}
