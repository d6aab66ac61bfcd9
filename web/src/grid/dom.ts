/** Makes a `div` with a class. */
export function makeElement(className: string): HTMLElement {
  const element = document.createElement("div");
  element.className = className;
  return element;
}

/** Sets an attribute if it has another value. */
export function setAttribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Orders some children of an element without moving the one that contains the focus. */
export function sortChildren(parent: HTMLElement, sorted: readonly HTMLElement[]): void {
  const isSorted = sorted.every((element, index) => {
    const next = sorted[index + 1];
    return next === undefined || isBefore(element, next);
  });
  if (isSorted) return;
  const fixedIndex = sorted.findIndex((element) => element.matches(":focus-within"));
  const fixed = sorted[fixedIndex] ?? null;
  sorted.forEach((element, index) => {
    if (element === fixed) return;
    parent.insertBefore(element, index < fixedIndex ? fixed : null);
  });
}

function isBefore(element: Element, other: Element): boolean {
  return (element.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
}
