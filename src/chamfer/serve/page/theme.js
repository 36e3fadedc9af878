/** Light or dark: what the system says, until the reader says otherwise. */

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

// Storage can be forbidden; the page is then as the system says.
try {
  choose(localStorage.getItem(KEY));
} catch {}

/** The button says what it would do, so it needs no pressed state. */
export function startTheme() {
  const button = /** @type {HTMLButtonElement} */ (document.getElementById("theme"));
  const label = () => {
    const other = shown() === "dark" ? "Light" : "Dark";
    button.textContent = other;
    button.title = `Show the page in ${other.toLowerCase()}`;
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
