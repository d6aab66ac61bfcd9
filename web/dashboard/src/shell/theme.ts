import { half, moon, sun } from "../ui/icons.js";

/** How the page looks: as the system says, or always one way. */
export type Theme = "auto" | "light" | "dark";

const THEMES: readonly Theme[] = ["auto", "light", "dark"];
const ICONS = { auto: half, light: sun, dark: moon };
const KEY = "colonnade-theme";

/** The theme chosen before; `auto` where nothing can be stored. */
export function loadTheme(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

/** Applies a theme to the page and remembers it. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Storage is off: the choice lasts as long as the page.
  }
}

/** The theme after this one, for a button that goes round. */
export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
}

/** What stands for a theme. */
export function themeIcon(theme: Theme) {
  return ICONS[theme];
}
