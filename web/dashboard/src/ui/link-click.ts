/** Whether the browser opens a clicked link in another tab or window, or downloads it. */
export function opensElsewhere(event: MouseEvent): boolean {
  return event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
}
