/** Space between a panel and the edge of the page. */
const MARGIN_PX = 8;

/** Opens a rendered panel at an element, within the page, and gives it the focus. */
export function placePanel(panel: HTMLElement, anchor: DOMRect): void {
  panel.showPopover();
  const { width, height } = panel.getBoundingClientRect();
  const isRtl = getComputedStyle(panel).direction === "rtl";
  const start = isRtl ? anchor.right - width : anchor.left;
  const left = Math.min(start, innerWidth - width - MARGIN_PX);
  const top = Math.min(anchor.bottom, innerHeight - height - MARGIN_PX);
  panel.style.left = `${Math.max(MARGIN_PX, left)}px`;
  panel.style.top = `${Math.max(MARGIN_PX, top)}px`;
  panel.querySelector<HTMLElement>("button:not([disabled]), input")?.focus();
}

/** Closes the panel that an event happened in. */
export function closePanel({ currentTarget }: Event): void {
  (currentTarget as Element).closest<HTMLElement>(".panel")?.hidePopover();
}
