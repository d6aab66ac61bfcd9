import type { ColonnadeViewer, ViewerEventMap } from "colonnade";

/** Listens to what a viewer tells. */
export function listen<K extends keyof ViewerEventMap>(
  viewer: ColonnadeViewer,
  type: K,
  listener: (detail: ViewerEventMap[K]["detail"]) => void,
): void {
  viewer.addEventListener(type, (event) => listener((event as ViewerEventMap[K]).detail));
}
