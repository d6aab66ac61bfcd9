/** Space between a panel and the edge of the page. */
const MARGIN_PX = 8;

/**
 * Opens a rendered panel at its opener, within the page, and gives it the focus.
 *
 * @param returnFocus called when the panel closes and nothing else has the focus
 */
export function openPanel(panel: HTMLElement, opener: HTMLElement, returnFocus: () => void): void {
  const anchor = opener.getBoundingClientRect();
  panel.showPopover();
  const { width, height } = panel.getBoundingClientRect();
  const isRtl = getComputedStyle(panel).direction === "rtl";
  const start = isRtl ? anchor.right - width : anchor.left;
  const left = Math.min(start, innerWidth - width - MARGIN_PX);
  const top = Math.min(anchor.bottom, innerHeight - height - MARGIN_PX);
  panel.style.left = `${Math.max(MARGIN_PX, left)}px`;
  panel.style.top = `${Math.max(MARGIN_PX, top)}px`;
  panel.querySelector<HTMLElement>("button:not([disabled]), input")?.focus();
  const onToggle = () => {
    if (panel.matches(":popover-open")) return;
    panel.removeEventListener("toggle", onToggle, true);
    if (isFocusFree(panel, opener)) returnFocus();
  };
  // Before the panel's own listener, which removes it from the page.
  panel.addEventListener("toggle", onToggle, true);
}

/** Whether a closed panel, its opener or nothing has the focus; browsers differ in which of them it is. */
function isFocusFree(panel: Element, opener: Element): boolean {
  const root = panel.getRootNode() as ShadowRoot;
  const focused = root.activeElement;
  if (focused !== null) return panel.contains(focused) || opener.contains(focused);
  const { activeElement } = document;
  return activeElement === null || [document.body, root.host].includes(activeElement);
}

/** Closes the panel that an event happened in. */
export function closePanel({ currentTarget }: Event): void {
  (currentTarget as Element).closest<HTMLElement>(".panel")?.hidePopover();
}
