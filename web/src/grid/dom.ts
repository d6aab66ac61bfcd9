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
