import { readFile } from "node:fs/promises";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { expect, test } from "./fixtures.js";
import { inCheckout } from "./server.js";

const TYPES: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

const PAGE = `<!doctype html><title>Plain page</title>
<script type="importmap">{"imports": {"colonnade": "/dist/index.js"}}</script>
<script type="module">
  import { open } from "colonnade";
  window.open_ = open;
</script>`;

let pages: HttpServer;

/** Serves a plain page with the built package and the fixtures. */
test.beforeAll(async () => {
  pages = createServer(async (request, response) => {
    const path = request.url ?? "/";
    const folder = path.startsWith("/dist/") ? "web" : "fixtures";
    try {
      const body = path === "/" ? PAGE : await readFile(inCheckout(`${folder}${path}`));
      const type =
        path === "/" ? "text/html" : (TYPES[extname(path)] ?? "application/octet-stream");
      response.writeHead(200, { "content-type": type }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
});

test.afterAll(() => {
  pages.close();
});

for (const name of ["every_type", "every_type_lz4", "every_type_zstd", "zones"]) {
  test(`${name}: the package's texts equal pyarrow's values, cell by cell`, async ({ page }) => {
    await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`);
    await page.waitForFunction(() => "open_" in window);
    const { fields, rows } = await page.evaluate(async (url) => {
      // biome-ignore lint/suspicious/noExplicitAny: the page's own `open`
      const table = await (window as any).open_(url);
      await table.done;
      return {
        fields: table.schema.fields.map((field: { name: string; type: string }) => [
          field.name,
          field.type,
        ]),
        rows: await table.text({ start: 0, end: table.numRows }),
      };
    }, `/${name}.arrows`);
    const expected = JSON.parse(
      await readFile(inCheckout(`fixtures/${name.split("_").slice(0, 2).join("_")}.json`), "utf8"),
    );
    expect(fields).toEqual(
      expected.map(({ name, type }: { name: string; type: string }) => [name, type]),
    );
    for (const [index, column] of expected.entries()) {
      expect(
        rows.map((row: (string | null)[]) => row[index]),
        column.name,
      ).toEqual(column.text);
    }
  });
}
