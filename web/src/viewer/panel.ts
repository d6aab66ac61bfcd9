/** Space between a panel and the edge of the page. */
const MARGIN_PX = 8;

/**
 * Opens a rendered panel at an element, within the page, and gives it the focus. While it is open, it follows the
 * element.
 */
export function placePanel(panel: HTMLElement, anchor: () => Element | undefined): void {
  panel.showPopover();
  /** Places the panel, in each frame while it is open: anything may move the element. */
  const follow = () => {
    if (!panel.matches(":popover-open")) return;
    requestAnimationFrame(follow);
    const at = anchor()?.getBoundingClientRect();
    // Nothing, if the element is not drawn.
    if (!at?.width) return;
    const { width, height } = panel.getBoundingClientRect();
    const isRtl = getComputedStyle(panel).direction === "rtl";
    const start = isRtl ? at.right - width : at.left;
    const left = Math.min(start, innerWidth - width - MARGIN_PX);
    const top = Math.min(at.bottom, innerHeight - height - MARGIN_PX);
    panel.style.left = `${Math.max(MARGIN_PX, left)}px`;
    panel.style.top = `${Math.max(MARGIN_PX, top)}px`;
  };
  follow();
  panel.querySelector<HTMLElement>("button:not([disabled]), input")?.focus();
}

/** Closes the panel that an event happened in. */
export function closePanel({ currentTarget }: Event): void {
  (currentTarget as Element).closest<HTMLElement>(".panel")?.hidePopover();
}
