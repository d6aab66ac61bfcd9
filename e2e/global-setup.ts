import { Server } from "./tests/server.js";

/** Starts a server once so that it writes the demo tables, because tests also read their files. */
export default async function globalSetup(): Promise<void> {
  const server = await Server.start();
  await server.kill();
}
