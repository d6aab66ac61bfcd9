import { makeElement } from "./dom.js";

/** The elements that the grid is made of, outermost first. */
export interface Skeleton {
  /** The scroller with `role="grid"`. */
  grid: HTMLElement;
  /** As tall and wide as all cells, so that there are scrollbars. */
  content: HTMLElement;
  /** The layer that does not scroll. */
  layer: HTMLElement;
}

/** Assembles the elements of the grid. Row numbers are separate, because they do not scroll sideways. */
export function makeSkeleton(elements: {
  header: HTMLElement;
  rows: HTMLElement;
  numbers: HTMLElement;
}): Skeleton {
  const grid = makeElement("grid");
  grid.setAttribute("role", "grid");
  grid.setAttribute("part", "grid");
  // The first column is at the left in every script, because columns keep the file's order.
  grid.dir = "ltr";
  grid.setAttribute("aria-label", "Rows");
  grid.setAttribute("aria-readonly", "true");
  grid.setAttribute("aria-multiselectable", "true");
  const corner = makeElement("corner");
  const gutter = makeElement("gutter");
  corner.setAttribute("aria-hidden", "true");
  gutter.setAttribute("aria-hidden", "true");
  gutter.append(elements.numbers);
  const body = makeElement("body");
  body.append(elements.rows);
  const layer = makeElement("layer");
  layer.append(elements.header, body, corner, gutter);
  const content = makeElement("content");
  content.append(layer);
  grid.append(content);
  return { grid, content, layer };
}
