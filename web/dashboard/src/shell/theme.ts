import { half, moon, sun } from "../ui/icons.js";

/** The colour theme; `auto` follows the system. */
export type Theme = "auto" | "light" | "dark";

const THEMES: readonly Theme[] = ["auto", "light", "dark"];
const ICONS = { auto: half, light: sun, dark: moon };
const KEY = "colonnade-theme";

/** The stored theme; `auto` if none is stored. */
export function loadTheme(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

/** Applies a theme to the page and stores it. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Storage is off: the choice lasts until the page is closed.
  }
}

/** The theme after this one, for a button that cycles through all. */
export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
}

/** The icon of a theme. */
export function themeIcon(theme: Theme) {
  return ICONS[theme];
}
