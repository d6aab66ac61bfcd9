import { readFileSync } from "node:fs";
import { testOn } from "./other-origin.js";
import { inCheckout } from "./server.js";
import { expect } from "./viewer.js";

const test = testOn("<!doctype html><title>Widget</title><main></main>");

test("a cell that is run again leaves no handlers of its former widget", async ({
  page,
  pages,
}) => {
  const files = { widget: "python/src/colonnade/widget.js", inline: "web/dist/inline.js" };
  for (const [name, path] of Object.entries(files)) {
    const body = readFileSync(inCheckout(path));
    await page.route(`**/${name}.js`, (route) =>
      route.fulfill({ body, contentType: "text/javascript" }),
    );
  }
  await page.goto(pages.origin);
  const counts = await page.evaluate(async () => {
    const { default: widget } = await import("/widget.js" as string);
    const inline = await (await fetch("/inline.js")).arrayBuffer();
    type Handler = (...values: unknown[]) => void;
    const handlers = new Map<string, Set<Handler>>();
    const count = () => [...handlers.values()].reduce((sum, { size }) => sum + size, 0);
    const values: Record<string, unknown> = {
      height: 300,
      theme: "auto",
      state: {},
      _version: "1",
    };
    /** A notebook's model, whose kernel has the viewer's module and no rows. */
    const model = {
      get: (name: string) => values[name] ?? null,
      set: () => undefined,
      save_changes: () => undefined,
      on: (name: string, handler: Handler) =>
        handlers.set(name, (handlers.get(name) ?? new Set()).add(handler)),
      off: (name: string, handler: Handler) => handlers.get(name)?.delete(handler),
      send: ({ id, do: what }: { id: string; do: string }) => {
        const answer = what === "module" ? { id } : { id, status: 204, headers: {} };
        for (const handler of handlers.get("msg:custom") ?? []) {
          queueMicrotask(() => handler(answer, what === "module" ? [new DataView(inline)] : []));
        }
      },
    };
    const counts = [];
    for (let run = 0; run < 3; run++) {
      const el = document.createElement("div");
      document.querySelector("main")?.append(el);
      const remove = await widget.render({ model, el });
      while (el.querySelector("colonnade-viewer") === null) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      counts.push(count());
      remove();
      el.remove();
      counts.push(count());
    }
    return counts;
  });
  expect(counts[0]).toBeGreaterThan(3);
  expect(counts).toEqual([counts[0], 0, counts[0], 0, counts[0], 0]);
});
