import { test as base } from "./fixtures.js";
import { PageServer } from "./package.js";
import { Server } from "./server.js";

/** Tests with a page of another origin, and a server of the demo tables that allows that origin. */
export function testOn(html: string) {
  return base.extend<object, { pages: PageServer; server: Server }>({
    pages: [
      // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixtures wanted from the pattern
      async ({}, use) => {
        const pages = new PageServer(html);
        await pages.listen();
        await use(pages);
        pages.close();
      },
      { scope: "worker" },
    ],
    server: [
      async ({ pages }, use) => {
        const server = await Server.start(["--allow-origin", pages.origin]);
        await use(server);
        await server.kill();
      },
      { scope: "worker" },
    ],
  });
}
