import type { ColonnadeViewer } from "colonnade";
import { parseAddress } from "../address/address.js";

/** The performance mark of the frame in which the first rows were painted. */
const MARK = "colonnade-first-rows";

/**
 * Sets a performance mark when the first rows are painted, if the page was loaded with an address
 * that has rows, and is visible. To be called once, when the page starts.
 *
 * @param onMark called when the mark is set
 */
export function watchFirstRows(viewer: ColonnadeViewer, onMark: () => void): void {
  if (document.hidden || parseAddress(location.search).subject === undefined) return;
  const onRows = () => {
    if (!viewer.table?.numRows) return;
    viewer.removeEventListener("colonnade-progress", onRows);
    viewer.removeEventListener("colonnade-schema", onRows);
    markOncePainted(viewer, onMark);
  };
  viewer.addEventListener("colonnade-progress", onRows);
  viewer.addEventListener("colonnade-schema", onRows);
}

/** The time from navigation to the paint of the first rows, in ms; undefined before it. */
export function firstRowsMs(): number | undefined {
  return performance.getEntriesByName(MARK)[0]?.startTime;
}

function markOncePainted(viewer: ColonnadeViewer, onMark: () => void): void {
  requestAnimationFrame(() => {
    const cells = viewer.shadowRoot?.querySelectorAll("[role=gridcell]") ?? [];
    const hasText = [...cells].some(({ textContent }) => textContent?.trim());
    if (!hasText) {
      if (viewer.table !== undefined) markOncePainted(viewer, onMark);
      return;
    }
    // A task that is queued in the frame of the rows runs after the frame is painted.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      performance.mark(MARK);
      onMark();
    };
    port2.postMessage(null);
  });
}
