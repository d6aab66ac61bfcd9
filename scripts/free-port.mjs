import { once } from "node:events";
import { createServer } from "node:net";

/** A free port of loopback. @returns {Promise<number>} */
export async function freePort() {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (listener.address());
  listener.close();
  await once(listener, "close");
  return port;
}
