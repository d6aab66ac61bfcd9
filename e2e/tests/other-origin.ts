import { test as base } from "./fixtures.js";
import type { PageServer } from "./package.js";
import type { Server } from "./server.js";

/** Tests with a page of another origin, and a server of the demo tables that allows that origin. */
export function testOn(html: string) {
  return base.extend<{ pages: PageServer; server: Server }>({
    pages: async ({ pageServer }, use) => {
      pageServer.pages = { "/": html };
      await use(pageServer);
    },
    server: async ({ demo }, use) => use(demo),
  });
}
