import type { ColonnadeViewer, ViewerEventMap } from "colonnade";

/** Calls `listener` with the detail of each event of this type. */
export function listen<K extends keyof ViewerEventMap>(
  viewer: ColonnadeViewer,
  type: K,
  listener: (detail: ViewerEventMap[K]["detail"]) => void,
): void {
  viewer.addEventListener(type, (event) => listener((event as ViewerEventMap[K]).detail));
}
