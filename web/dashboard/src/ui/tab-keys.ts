/** The index of the tab, of `count`, to which an arrow key, Home or End leads from `index`. */
export function tabAfterKey(key: string, index: number, count: number): number | undefined {
  if (key === "ArrowRight") return (index + 1) % count;
  if (key === "ArrowLeft") return (index - 1 + count) % count;
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : undefined;
}

/** Moves the focus to another tab of the list on an arrow key, Home or End. */
export function moveAmongTabs(event: KeyboardEvent): void {
  const list = (event.currentTarget as HTMLElement).closest("[role=tablist]");
  const tabs = [...(list?.querySelectorAll<HTMLElement>("[role=tab]") ?? [])];
  const index = tabs.indexOf(event.currentTarget as HTMLElement);
  const next = tabAfterKey(event.key, index, tabs.length);
  if (next === undefined) return;
  event.preventDefault();
  tabs[next]?.focus();
}
