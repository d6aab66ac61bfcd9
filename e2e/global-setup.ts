import { Server } from "./tests/server.js";

/** Has a server write the demo tables, which tests read as files too, whichever of them run. */
export default async function globalSetup(): Promise<void> {
  const server = await Server.start();
  await server.kill();
}
