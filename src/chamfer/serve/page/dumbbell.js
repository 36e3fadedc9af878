/** Two values on one line: a hollow dot before, a filled one after. The numbers beside it say the same. */

import { element, measure } from "./element.js";

/**
 * @param {number} before from 0, at the left, to 1
 * @param {number} after
 */
export function dumbbell(before, after) {
  const made = element("span", { className: "dumbbell", ariaHidden: "true" });
  measure(made, { before, after, start: Math.min(before, after), end: Math.max(before, after) });
  return made;
}
