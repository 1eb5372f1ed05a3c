import { effect, signal } from "@preact/signals";

const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const NAME = "excursor-theme";

/** The theme that the user has chosen; `auto` follows the system. */
export const theme = signal<Theme>(storedTheme());

/** Changes with the colours on the screen, for drawings that cannot follow by themselves. */
export const isDark = signal(false);

function storedTheme(): Theme {
  const stored = localStorage.getItem(NAME);
  return THEMES.find((one) => one === stored) ?? "auto";
}

/** Keeps the page in the chosen theme. */
export function applyTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const update = () => {
    document.documentElement.dataset["theme"] = theme.value;
    isDark.value = theme.value === "dark" || (theme.value === "auto" && system.matches);
  };
  system.addEventListener("change", update);
  effect(() => {
    localStorage.setItem(NAME, theme.value);
    update();
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
}
