/** Building elements and formatting values. Text is never parsed as markup. */

/**
 * Make an element. Properties that begin with `on` are event listeners, properties of the element are set, and all
 * others become attributes. Strings among the children become text nodes.
 *
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElement}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made) /** @type {any} */ (made)[name] = value;
    else made.setAttribute(name, String(value));
  }
  made.append(.../** @type {(Node | string)[]} */ (children.filter((child) => child !== null && child !== undefined)));
  return made;
}

/** A muted paragraph. @param {...(Node | string)} children */
export const quiet = (...children) => element("p", { className: "quiet" }, ...children);

/** Text for screen readers only. @param {string} text */
export const unseen = (text) => element("span", { className: "unseen" }, text);

/** @param {string} id @returns {any} an element of index.html */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`index.html has no element ${id}`);
  return found;
}

/**
 * Set CSS variables. The content security policy forbids style attributes, but allows this.
 *
 * @param {HTMLElement} target
 * @param {Record<string, number>} numbers
 */
export function measure(target, numbers) {
  for (const [name, value] of Object.entries(numbers)) target.style.setProperty(`--${name}`, value.toFixed(4));
}

/** @param {number} count @param {string} noun */
export const counted = (count, noun) =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

/** A number with a minus sign rather than a hyphen, and none before zero. @param {number} value @param {number} [digits] */
export function decimal(value, digits = 3) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** The same, with a plus sign before positive numbers. @param {number} value @param {number} [digits] */
export const signed = (value, digits = 3) => (value > 0 ? "+" : "") + decimal(value, digits);

/** @param {number} share */
export const percent = (share) => `${Math.round(100 * share)}%`;

/** A message with a capital letter and a full stop. @param {string} text */
export const sentence = (text) => (text[0] ?? "").toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
