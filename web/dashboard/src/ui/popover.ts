/** Positions an open popover below its button, inside the window. */
export function placeBelow(
  panel: HTMLElement,
  button: Pick<Element, "getBoundingClientRect">,
): void {
  const { bottom, right } = button.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = panel;
  const left = Math.max(8, Math.min(right - offsetWidth, innerWidth - offsetWidth - 8));
  panel.style.left = `${left}px`;
  panel.style.top = `${Math.max(8, Math.min(bottom + 4, innerHeight - offsetHeight - 8))}px`;
}
