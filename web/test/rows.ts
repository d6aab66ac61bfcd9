// The rows of a stream, decoded by the built module, as a page reads them through a port.

import { readFileSync } from "node:fs";
import type { MessageChannel as NodeChannel } from "node:worker_threads";
import init, { Decoder } from "../pkg/colonnade_wasm.js";
import { View } from "../src/api/row-reader.js";
import type { Endpoint } from "../src/rpc/endpoint.js";
import { Requester } from "../src/rpc/requester.js";
import { type Handlers, Responder } from "../src/rpc/responder.js";
import { BodyDecoder } from "../src/worker/body-decoder.js";
import { rowHandlers } from "../src/worker/row-handlers.js";

/** A file of the package. */
export const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url));

/** A decoder that has the whole stream. */
export async function decode(stream: Uint8Array): Promise<BodyDecoder> {
  const { memory } = await init({ module_or_path: read("pkg/colonnade_wasm_bg.wasm") });
  const decoder = new BodyDecoder(new Decoder(2 ** 31), memory);
  decoder.push(stream);
  return decoder;
}

/** The rows of a stream. */
export async function rowsOf(stream: Uint8Array): Promise<View> {
  const decoder = await decode(stream);
  const { kernels } = decoder;
  const { port1, port2 } = new MessageChannel();
  const handlers = rowHandlers(
    () => kernels,
    (name, data) => responder.notify(name, data),
  );
  const responder = new Responder(
    port2 as unknown as Endpoint,
    handlers as Partial<Handlers> as Handlers,
  );
  const requester = new Requester(port1 as unknown as Endpoint, () => undefined);
  for (const port of [port1, port2]) {
    port.start();
    // Otherwise Node would wait for them.
    (port as unknown as InstanceType<typeof NodeChannel>["port1"]).unref();
  }
  const schema = decoder.schema ?? { fields: [], metadata: {} };
  return new View(requester, schema, { view: 0, numRows: decoder.numRows, isDone: true });
}
