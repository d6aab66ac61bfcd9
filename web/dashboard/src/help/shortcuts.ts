import { load, store } from "../shell/storage.js";

/** Keys and their function, as the help dialog lists them. */
export interface Shortcut {
  keys: readonly string[];
  does: string;
}

/** The shortcuts of one area of the page. */
export interface ShortcutGroup {
  title: string;
  shortcuts: readonly Shortcut[];
}

const MODIFIER = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘" : "Ctrl";
const STORAGE_KEY = "colonnade.single-keys";

/** A single-key shortcut of the page. */
export interface PageKey {
  key: string;
  does: string;
  act(): void;
}

/** All shortcuts by the area where they work. */
export function shortcutGroups(pageKeys: readonly PageKey[]): ShortcutGroup[] {
  return [
    { title: "Page", shortcuts: pageKeys.map(({ key, does }) => ({ keys: [key], does })) },
    {
      title: "SQL editor",
      shortcuts: [
        { keys: [MODIFIER, "Enter"], does: "Run the selection or the whole text" },
        { keys: ["Tab"], does: "Accept the completion" },
        { keys: ["Escape"], does: "Close the completions, then cancel what runs" },
        { keys: ["F2"], does: "On a tab: rename it" },
        { keys: ["Delete"], does: "On a tab: close it" },
      ],
    },
    {
      title: "Rows",
      shortcuts: [
        { keys: ["Arrow keys"], does: "Go to the next cell" },
        { keys: [MODIFIER, "Arrow keys"], does: "Go to the edge in that direction" },
        { keys: ["Page Up", "Page Down"], does: "Go one screen up or down" },
        { keys: ["Home", "End"], does: "Go to the first or last column" },
        { keys: [MODIFIER, "Home", "End"], does: "Go to the first or last cell" },
        { keys: ["Shift", "any of these"], does: "Extend the selection" },
        { keys: ["Shift", "Space"], does: "Select the row" },
        { keys: [MODIFIER, "Space"], does: "Select the column" },
        { keys: [MODIFIER, "A"], does: "Select all; Escape returns to one cell" },
        { keys: [MODIFIER, "C"], does: "Copy the exact values of the selection" },
        { keys: ["Enter"], does: "Show the whole value" },
        { keys: ["Shift", "F10"], does: "Open the cell's menu: filter by its value" },
        { keys: [MODIFIER, "F"], does: "Find text in cells and column names" },
      ],
    },
    {
      title: "Header (Arrow Up from the first row)",
      shortcuts: [
        { keys: ["Enter"], does: "Sort by the column: ascending, descending, off" },
        { keys: ["Shift", "Enter"], does: "Add the column to the sort" },
        { keys: ["Alt", "Arrow Down"], does: "Open the column's menu" },
        { keys: ["Alt", "Arrow Left, Right"], does: "Resize the column" },
        { keys: ["Shift", "Arrow Left, Right"], does: "Move the column" },
      ],
    },
  ];
}

/** Whether single-key shortcuts are on; they disturb speech input. */
export function areSingleKeysOn(): boolean {
  return load(STORAGE_KEY) !== false;
}

/** Switches single-key shortcuts on or off in this browser. */
export function setSingleKeys(isOn: boolean): void {
  store(STORAGE_KEY, isOn);
}

/** The shortcut of a key event; undefined in text fields and while a dialog is open. */
export function pageKeyOf(event: KeyboardEvent, keys: readonly PageKey[]): PageKey | undefined {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return undefined;
  if (event.composedPath().some(takesText) || document.querySelector("dialog[open]")) {
    return undefined;
  }
  return areSingleKeysOn() ? keys.find(({ key }) => key === event.key) : undefined;
}

function takesText(target: EventTarget): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
