/** Light, dark, or as the system has it. The choice is kept in the browser. */
import { useState } from "preact/hooks";

const ITEM = "proofwright.theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

function storedTheme(): Theme {
  return THEMES.find((theme) => theme === localStorage.getItem(ITEM)) ?? "system";
}

/** Shows the page in the chosen theme. */
export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** The choice of a theme. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme());
  return (
    <div class="segments small" role="group" aria-label="Theme">
      {THEMES.map((name) => (
        <button
          type="button"
          key={name}
          aria-pressed={name === theme}
          onClick={() => {
            localStorage.setItem(ITEM, name);
            applyTheme(name);
            setTheme(name);
          }}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
