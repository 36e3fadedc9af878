/** Light or dark mode: the system's setting, unless the user overrides it. */

const KEY = "chamfer.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @returns {"light" | "dark"} */
function shown() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : dark.matches ? "dark" : "light";
}

/** @param {string | null} theme */
function choose(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

// If the browser blocks storage, the system's setting applies.
try {
  choose(localStorage.getItem(KEY));
} catch {}

/** The button names the mode that it switches to, so it needs no pressed state. */
export function startTheme() {
  const button = /** @type {HTMLButtonElement} */ (document.getElementById("theme"));
  const label = () => {
    const other = shown() === "dark" ? "Light" : "Dark";
    button.textContent = other;
    button.title = `Switch to ${other.toLowerCase()} mode`;
  };
  button.addEventListener("click", () => {
    const other = shown() === "dark" ? "light" : "dark";
    choose(other);
    try {
      localStorage.setItem(KEY, other);
    } catch {}
    label();
  });
  dark.addEventListener("change", label);
  label();
}
