import type { ColonnadeViewer } from "colonnade";
import { parseAddress } from "../address/address.js";

/** The performance mark of the frame in which the first rows were painted. */
const MARK = "colonnade-first-rows";

/**
 * Marks when the first rows are painted, where the address that was navigated to has rows and the
 * page could be seen all the time. To be called once, as the page begins.
 */
export function watchFirstRows(viewer: ColonnadeViewer): void {
  if (document.hidden || parseAddress(location.search).subject === undefined) return;
  const onRows = () => {
    if (!viewer.table?.numRows) return;
    viewer.removeEventListener("colonnade-progress", onRows);
    viewer.removeEventListener("colonnade-schema", onRows);
    markOncePainted(viewer);
  };
  viewer.addEventListener("colonnade-progress", onRows);
  viewer.addEventListener("colonnade-schema", onRows);
}

/** From the start of the navigation to the paint of the first rows; undefined before. */
export function firstRowsMs(): number | undefined {
  return performance.getEntriesByName(MARK)[0]?.startTime;
}

function markOncePainted(viewer: ColonnadeViewer): void {
  requestAnimationFrame(() => {
    const cells = viewer.shadowRoot?.querySelectorAll("[role=gridcell]") ?? [];
    const hasText = [...cells].some(({ textContent }) => textContent?.trim());
    if (!hasText) {
      if (viewer.table !== undefined) markOncePainted(viewer);
      return;
    }
    // The frame that draws them has just been made; a task behind it comes after its paint.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      performance.mark(MARK);
    };
    port2.postMessage(null);
  });
}
