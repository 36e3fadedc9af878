/** Weights before and after a change, drawn and in numbers. */

import { dumbbell } from "./dumbbell.js";
import { element, unseen } from "./element.js";
import { spelledPiece, weighed } from "./naming.js";

/**
 * @param {import("./types.js").Changed[]} changes
 * @returns {HTMLElement[]} a list; nothing without changes
 */
export function changeList(changes) {
  if (changes.length === 0) return [];
  const heaviest = Math.max(1e-9, ...changes.flatMap(({ before, after }) => [before, after]));
  const rows = changes.map(({ before, after, ...token }) =>
    element(
      "li",
      {},
      element("span", { className: "change-name" }, spelledPiece(token)),
      dumbbell(before / heaviest, after / heaviest),
      element("span", { className: "number" }, unseen("weight "), `${weighed(before)} → ${weighed(after)}`),
    ),
  );
  return [element("ul", { className: "change-list" }, ...rows)];
}
