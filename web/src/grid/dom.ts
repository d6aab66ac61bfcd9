/** A `div` of a class. */
export function makeElement(className: string): HTMLElement {
  const element = document.createElement("div");
  element.className = className;
  return element;
}

/** Sets an attribute that is not so already. */
export function setAttribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
