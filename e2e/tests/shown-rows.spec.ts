import type { ColonnadeViewer } from "colonnade";
import {
  cell,
  doubleClick,
  expect,
  goToRow,
  resultIds,
  smallTest as test,
  viewer,
} from "./viewer.js";

const COLUMNS = "origin,delay,distance,destination,date";
const FLIGHTS = `/v1/tables/flights/rows?columns=${COLUMNS}`;

test("what the element reports and gives are the rows that it shows", async ({ page, stage }) => {
  // Sorted and filtered in the tab, and by the server.
  for (const attributes of [{}, { memory: "1MiB" }]) {
    await stage.show(FLIGHTS, attributes);
    const element = viewer(page);
    await element.evaluate(async (each: ColonnadeViewer) => {
      const sorted = new Promise((resolve) =>
        each.addEventListener("colonnade-sort", resolve, { once: true }),
      );
      each.state = {
        sort: [{ column: "delay", descending: true }],
        filter: { op: "ne", column: "origin", value: "JFK" },
        columns: { shown: ["destination", "delay", "origin"] },
      };
      await sorted;
    });
    await cell(page, 4, 1).click();
    await cell(page, 6, 3).click({ modifiers: ["Shift"] });
    const shown = await Promise.all(
      [4, 5, 6].map((row) =>
        Promise.all([1, 2, 3].map((column) => cell(page, row, column).textContent())),
      ),
    );
    const given = await element.evaluate(async (each: ColonnadeViewer) => {
      const { view, table, columns } = each;
      const selection = each.selection;
      if (view === undefined || table === undefined || selection === null) throw Error("nothing");
      const names = columns.slice(selection.columns.start, selection.columns.end);
      const numbers = await view.rowNumbers(selection.rows);
      const fromTable = [...(numbers ?? [])].map(async (row) =>
        (await table.text({ start: row, end: row + 1 }, names)).flat(),
      );
      const selected = await each.selectedValues({ maxCells: 9 });
      const refused = await each.selectedValues({ maxCells: 8 }).catch(({ code }) => code);
      const found = await view.find(String(selected.columns[0]?.values[0]), { limit: 1 });
      return {
        texts: await view.text(selection.rows, names),
        fromTable: numbers && (await Promise.all(fromTable)),
        names: selected.columns.map(({ name }) => name),
        rows: selected.rows,
        values: selected.columns.map(({ values }) => [...values].map(String)),
        refused,
        found: found.matches[0]?.columns,
      };
    });
    const isServers = "memory" in attributes;
    expect(given.texts).toEqual(shown);
    expect(given.fromTable).toEqual(isServers ? null : shown);
    expect(given.names).toEqual(["destination", "delay", "origin"]);
    expect(given.rows).toEqual({ start: 4, end: 7 });
    expect(given.values).toEqual([0, 1, 2].map((column) => shown.map((row) => row[column])));
    expect(given.refused).toBe("too_large");
    expect(given.found).toEqual(["destination"]);
  }
});

test("an activated row comes with its values, and a page can do something else with it", async ({
  page,
  stage,
}) => {
  await stage.show(FLIGHTS);
  await viewer(page).evaluate((each: ColonnadeViewer) => {
    each.columns = ["delay", "origin"];
  });
  await expect(page.getByRole("columnheader")).toHaveCount(2);
  await cell(page, 2, 2).click();
  await expect(cell(page, 2, 2)).toBeFocused();
  const activated = viewer(page).evaluate(
    (each: ColonnadeViewer) =>
      new Promise<unknown[]>((resolve) => {
        const seen: unknown[] = [];
        each.addEventListener("colonnade-activate", (event) => {
          const { values, ...cell } = event.detail;
          seen.push({ ...cell, names: Object.keys(values) });
          each.dataset.activated = String(seen.length);
          if (seen.length === 1) event.preventDefault();
          else resolve(seen);
        });
      }),
  );
  await doubleClick(cell(page, 2, 2));
  const inspector = page.getByRole("dialog");
  await expect(viewer(page)).toHaveAttribute("data-activated", "1");
  await expect(inspector).toBeHidden();
  for (const key of ["ArrowDown", "ArrowLeft", "Enter"]) await page.keyboard.press(key);
  await expect(inspector).toBeVisible();
  const names = COLUMNS.split(",");
  expect(await activated).toEqual([
    { row: 2, rowNumber: 2, column: "origin", names },
    { row: 3, rowNumber: 3, column: "delay", names },
  ]);
});

test("ready is about the latest source, and its total is of that source", async ({
  page,
  pages,
  server,
}) => {
  await page.goto(pages.origin);
  const seen = await page.evaluate(async (origin) => {
    const each = document.createElement("colonnade-viewer");
    each.setAttribute("total-rows", "60000");
    each.src = `${origin}/v1/tables/every_type/rows`;
    document.body.append(each);
    const names = ({ schema }: { schema: { fields: { name: string }[] } }) =>
      schema.fields[0]?.name;
    const first = names(await each.ready);
    each.src = `${origin}/v1/tables/flights/rows?columns=origin`;
    const second = names(await each.ready);
    const total = each.totalRows;
    each.src = `${origin}/v1/tables/nothing/rows`;
    const third = await each.ready.then(names, ({ code }) => code);
    each.src = `${origin}/v1/tables/flights/rows?columns=delay`;
    const waiting = each.ready;
    each.src = `${origin}/v1/tables/flights/rows?columns=destination`;
    const fourth = names(await waiting);
    each.retry();
    return { first, second, total, third, fourth, again: names(await each.ready) };
  }, server.origin);
  expect(seen).toEqual({
    first: "row",
    second: "origin",
    total: null,
    third: "unknown_table",
    fourth: "destination",
    again: "destination",
  });
});

test("a viewer that leaves the page, moves or opens its source again shows the same", async ({
  page,
  pages,
  server,
}) => {
  const requests: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/rows?")) requests.push(new URL(request.url()).pathname);
  });
  await page.goto(pages.origin);
  const seen = await page.evaluate(async (origin) => {
    const each = document.createElement("colonnade-viewer");
    each.style.height = "400px";
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const sorted = () =>
      new Promise((resolve) => each.addEventListener("colonnade-sort", resolve, { once: true }));
    each.src = `${origin}/v1/tables/flights/rows`;
    document.body.append(each);
    // Moved while it connects.
    await Promise.resolve();
    document.body.prepend(each);
    await (await each.ready).done;
    const before = sorted();
    each.state = {
      sort: [{ column: "delay", descending: true }],
      filter: { op: "eq", column: "origin", value: "SEA" },
      columns: { shown: ["origin", "delay"], pinned: ["origin"], widthsPx: { delay: 77 } },
      row: 500,
    };
    await before;
    await pause(300);
    const { state } = each;
    each.remove();
    await pause(500);
    const isClosed = each.table === undefined;
    const again = sorted();
    document.body.append(each);
    await again;
    await pause(300);
    const attached = each.state;
    const retried = sorted();
    each.retry();
    await retried;
    await pause(300);
    const { state: afterRetry } = each;
    each.remove();
    await pause(100);
    each.src = `${origin}/v1/tables/every_type/rows`;
    await pause(300);
    const whileDetached = each.table;
    document.body.append(each);
    const other = await each.ready;
    return {
      state,
      attached,
      afterRetry,
      isClosed,
      whileDetached,
      first: other.schema.fields[0]?.name,
      ofOther: [each.state.sort, each.state.filter, each.state.row],
    };
  }, server.origin);
  expect(seen.state.row).toBe(500);
  expect(seen.attached).toEqual(seen.state);
  expect(seen.afterRetry).toEqual(seen.state);
  expect(seen).toMatchObject({ isClosed: true, first: "row", ofOther: [[], null, 0] });
  expect(seen.whileDetached).toBeUndefined();
  const opened = (table: string) => requests.filter((path) => path.includes(`/${table}/`)).length;
  expect([opened("flights"), opened("every_type")]).toEqual([3, 1]);
});

test("an element that comes back with another source has nothing of the former one", async ({
  page,
  pages,
  server,
}) => {
  const requests: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/rows?")) requests.push(new URL(request.url()).search);
  });
  await page.goto(pages.origin);
  const seen = await page.evaluate(async (origin) => {
    const each = document.createElement("colonnade-viewer");
    each.style.height = "400px";
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const rows = (limit: number) => `${origin}/v1/tables/flights/rows?limit=${limit}`;
    const shown = async () => {
      const table = await each.ready;
      await table.done;
      await pause(300);
      const { sort, filter, row, columns } = each.state;
      return { numRows: table.numRows, sort, filter, row, numShown: columns.shown.length };
    };
    const arrange = async () => {
      const sorted = new Promise((resolve) =>
        each.addEventListener("colonnade-sort", resolve, { once: true }),
      );
      each.state = {
        sort: [{ column: "delay", descending: true }],
        filter: { op: "eq", column: "origin", value: "SEA" },
        columns: { shown: ["origin", "delay"] },
        row: 50,
      };
      await sorted;
    };
    document.body.append(each);
    each.src = rows(5000);
    await shown();
    await arrange();
    each.remove();
    await pause(100);
    const { columns, sort } = each.state;
    const meanwhile = [columns.shown.length, sort.length];
    each.src = rows(11);
    document.body.append(each);
    const atOnce = await shown();
    await arrange();
    each.remove();
    await pause(100);
    each.src = rows(12);
    await pause(100);
    document.body.append(each);
    const later = await shown();
    each.src = `${origin}/v1/tables/nowhere/rows`;
    const refused = await each.ready.catch((error) => error.code);
    each.remove();
    await pause(100);
    each.src = rows(13);
    await pause(100);
    document.body.append(each);
    const afterFailure = await shown();
    const { open } = (await import("/index.js" as string)) as typeof import("colonnade");
    const own = await open(rows(6000));
    await own.done;
    each.table = own;
    await arrange();
    each.remove();
    await pause(100);
    each.src = rows(14);
    document.body.append(each);
    const afterOwn = await shown();
    own.close();
    return { meanwhile, atOnce, later, refused, afterFailure, afterOwn };
  }, server.origin);
  const whole = (numRows: number) => ({ numRows, sort: [], filter: null, row: 0, numShown: 5 });
  expect(seen).toEqual({
    meanwhile: [2, 1],
    atOnce: whole(11),
    later: whole(12),
    refused: "unknown_table",
    afterFailure: whole(13),
    afterOwn: whole(14),
  });
  const opened = [11, 12, 13, 14].map(
    (limit) => requests.filter((search) => search.includes(`limit=${limit}&`)).length,
  );
  expect(opened).toEqual([1, 1, 1, 1]);
});

test("an element that is moved in the page, or hidden for a while, stays at its rows and columns", async ({
  page,
  stage,
}) => {
  await page.setViewportSize({ width: 500, height: 700 });
  await stage.show("/v1/tables/flights/rows");
  const numRequests = async () =>
    (await page.evaluate(() => performance.getEntriesByType("resource"))).length;
  await goToRow(page, 5001);
  await page.mouse.move(250, 300);
  await page.mouse.wheel(150, 0);
  const left = () =>
    viewer(page).evaluate((each) => {
      const grid = each.shadowRoot?.querySelector("[role=grid]");
      return { left: grid?.scrollLeft, row: (each as ColonnadeViewer).state.row };
    });
  await expect.poll(async () => (await left()).left).toBe(150);
  const before = await numRequests();
  for (const step of ["move", "hide", "show", "back"]) {
    await viewer(page).evaluate((each, what) => {
      const section = document.querySelector("section") ?? document.createElement("section");
      if (what === "move") {
        document.body.append(section);
        section.append(each);
      } else if (what === "back") {
        document.body.append(each);
      } else {
        section.hidden = what === "hide";
      }
    }, step);
    await page.waitForTimeout(300);
    if (step === "hide") continue;
    expect([step, await left()]).toEqual([step, { left: 150, row: 5000 }]);
    await expect(cell(page, 5000, 1)).toBeVisible();
    await page.mouse.wheel(0, 30);
    await expect.poll(async () => (await left()).row).toBe(5001);
    await page.mouse.wheel(0, -30);
    await expect.poll(async () => (await left()).row).toBe(5000);
  }
  expect(await numRequests()).toBe(before);
});

test("a page's own table is arranged only while its element is in the page", async ({
  page,
  pages,
  server,
}) => {
  await page.goto(pages.origin);
  const ids = resultIds(page);
  const numSorted = async () => {
    const response = await page.request.get(`${server.origin}/v1/query`);
    const { queries } = (await response.json()) as {
      queries: { id: string; request?: { sort?: unknown } }[];
    };
    const isOwn = ({ id, request }: (typeof queries)[0]) => ids.has(id) && request?.sort;
    return queries.filter(isOwn).length;
  };
  for (const memoryBytes of [2 ** 20, 2 ** 28]) {
    await page.evaluate(
      async ([src, bytes]) => {
        const { open } = (await import("/index.js" as string)) as typeof import("colonnade");
        const [each] = document.getElementsByTagName("colonnade-viewer");
        if (each === undefined) throw Error("no viewer");
        const table = await open(src, { memoryBytes: bytes });
        await table.done;
        each.table = table;
        const sorted = new Promise((resolve) =>
          each.addEventListener("colonnade-sort", resolve, { once: true }),
        );
        each.state = { sort: [{ column: "delay", descending: true }], row: 500 };
        await sorted;
      },
      [`${server.origin}${FLIGHTS}`, memoryBytes] as const,
    );
    await expect(cell(page, 500, 2)).toHaveText(/\d/);
    const texts = await cell(page, 500, 2).textContent();
    expect(await numSorted()).toBe(memoryBytes === 2 ** 20 ? 1 : 0);
    const element = await viewer(page).elementHandle();
    await element?.evaluate((each) => {
      each.remove();
      // Nothing is arranged for it meanwhile.
      (each as ColonnadeViewer).state = { summaries: false };
    });
    await expect.poll(numSorted).toBe(0);
    await element?.evaluate((each) => document.body.append(each));
    await expect(cell(page, 500, 2)).toHaveText(texts ?? "");
    await element?.evaluate((each) => (each as ColonnadeViewer).table?.close());
  }
});

test("newer rows of the same columns that a page gives keep the view", async ({
  page,
  pages,
  server,
}) => {
  await page.goto(pages.origin);
  const seen = await page.evaluate(async (src) => {
    const [each] = document.getElementsByTagName("colonnade-viewer");
    if (each === undefined) throw Error("no viewer");
    const give = async (query: string) => {
      const response = await fetch(`${src}&${query}`);
      each.source = new Uint8Array(await response.arrayBuffer());
      await (await each.ready).done;
    };
    const sorted = () =>
      new Promise((resolve) => each.addEventListener("colonnade-sort", resolve, { once: true }));
    await give("limit=1000");
    const before = sorted();
    each.state = {
      sort: [{ column: "delay", descending: true }],
      filter: { op: "ne", column: "origin", value: "JFK" },
      columns: { shown: ["origin", "delay"], pinned: ["origin"], widthsPx: { delay: 77 } },
      row: 300,
    };
    await before;
    const { state } = each;
    const again = sorted();
    await give("limit=2000");
    await again;
    const { state: newer } = each;
    const opened = sorted();
    each.retry();
    await opened;
    const { state: retried } = each;
    await give("limit=1000&columns=origin,delay");
    const { sort, filter, columns, row } = each.state;
    return { state, newer, retried, others: [sort, filter, columns.shown, row] };
  }, `${server.origin}/v1/tables/flights/rows?`);
  expect(seen.newer).toEqual(seen.state);
  expect(seen.retried).toEqual(seen.state);
  expect(seen.others).toEqual([[], null, ["origin", "delay"], 0]);
});
