import { expect, type Page } from "@playwright/test";

/** Expects that the grid follows the ARIA grid pattern, with rows and columns rendered on demand. */
export async function expectGrid(page: Page): Promise<void> {
  await expect.poll(() => gridProblems(page)).toEqual([]);
}

/** The ways in which the page's grid violates the pattern. */
function gridProblems(page: Page): Promise<string[]> {
  return page.getByRole("grid").evaluate((grid) => {
    const problems: string[] = [];
    const check = (isRight: boolean, problem: string) => {
      if (!isRight) problems.push(problem);
    };
    const shown = (selector: string, within: Element = grid) =>
      [...within.querySelectorAll<HTMLElement>(selector)].filter((each) => each.checkVisibility());
    const number = (element: Element, name: string) =>
      Number(element.getAttribute(name) ?? Number.NaN);
    const isIncreasing = (numbers: number[]) =>
      numbers.every((each, index) => index === 0 || each > (numbers[index - 1] ?? 0));

    const rowCount = number(grid, "aria-rowcount");
    const columnCount = number(grid, "aria-colcount");
    check(rowCount === -1 || rowCount >= 1, `aria-rowcount is ${rowCount}`);
    check(
      /^(?:true|false)$/.test(grid.getAttribute("aria-busy") ?? ""),
      "aria-busy is not a boolean",
    );
    check(grid.getAttribute("aria-label") !== null, "the grid has no name");

    const rows = shown("[role=row]");
    const indexes = rows.map((row) => number(row, "aria-rowindex"));
    check(indexes[0] === 1, "the header is not row 1");
    check(isIncreasing(indexes), `rows are not in reading order: ${indexes}`);
    check(rowCount === -1 || Math.max(...indexes) <= rowCount, "a row is beyond aria-rowcount");
    rows.forEach((row, index) => {
      const role = index === 0 ? "columnheader" : "gridcell";
      const cells = shown(`[role=${role}]`, row);
      const columns = cells.map((cell) => number(cell, "aria-colindex"));
      check(cells.length > 0, `row ${indexes[index]} has no ${role}`);
      check(isIncreasing(columns), `row ${indexes[index]} is not in reading order: ${columns}`);
      check(
        columns.every((column) => column >= 1 && column <= columnCount),
        `row ${indexes[index]} has columns ${columns} of ${columnCount}`,
      );
      for (const cell of cells) {
        const states =
          role === "gridcell"
            ? /^(?:true|false)$/.test(cell.getAttribute("aria-selected") ?? "")
            : /^(?:|none|ascending|descending)$/.test(cell.getAttribute("aria-sort") ?? "");
        check(states, `a ${role} has no state`);
        check(
          cell.closest("[aria-hidden=true]") === null,
          `a ${role} is hidden from screen readers`,
        );
      }
    });
    const stops = [grid, ...shown("*")].filter((each) => (each as HTMLElement).tabIndex >= 0);
    check(stops.length === 1, `${stops.length} tab stops: ${stops.map((each) => each.className)}`);
    return problems;
  });
}
