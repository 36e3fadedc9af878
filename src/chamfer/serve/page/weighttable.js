/** Tokens in tables: what each weighs, in how many documents it is, where its weight comes from; and a box to change it. */

import { element, quiet } from "./element.js";
import { edit, edited } from "./edits.js";
import { originOf, spelledPiece } from "./naming.js";
import { LARGEST } from "./weighing.js";

/** @typedef {import("./types.js").WeightedToken} WeightedToken */

/**
 * @param {string} caption
 * @param {WeightedToken[]} tokens
 * @param {{counts: string, usual?: boolean}} options what is counted, and whether to say where a weight comes from if
 *   most come from there
 */
export function tokenTable(caption, tokens, { counts, usual = true }) {
  return element(
    "table",
    { className: "token-table" },
    element("caption", {}, caption),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col" }, "token"),
        element("th", { scope: "col", className: "number" }, counts),
        element("th", { scope: "col", className: "number" }, "weight"),
      ),
    ),
    element("tbody", {}, ...tokens.map((token) => row(token, usual || !["counted", "uniform"].includes(token.origin)))),
  );
}

/** @param {WeightedToken} token @param {boolean} explained whether to say where its weight comes from */
function row(token, explained) {
  const name = spelledPiece(token);
  const box = /** @type {HTMLInputElement} */ (
    element("input", {
      type: "number",
      min: "0",
      max: String(LARGEST),
      step: "any",
      inputMode: "decimal",
      ariaLabel: `weight of ${name}`,
      onchange: () => {
        const typed = box.valueAsNumber;
        // What is no number falls back to the server's weight.
        edit(token, Number.isNaN(typed) ? token.weight : Math.min(LARGEST, Math.max(0, typed)));
        show();
      },
    })
  );
  const made = element(
    "tr",
    {},
    element("th", { scope: "row" }, element("span", { className: "token-name" }, name), explained ? quiet(originOf(token)) : null),
    element("td", { className: "number" }, token.documents.toLocaleString("en")),
    element("td", { className: "number" }, box),
  );
  const show = () => {
    const after = edited(token.token);
    made.classList.toggle("moved", after !== null);
    box.value = String(after ?? shortened(token.weight));
  };
  show();
  return made;
}

/** A weight for a box, which takes no separators. @param {number} weight */
const shortened = (weight) => (weight >= 0.01 && weight < 1000 ? weight.toFixed(2) : Number(weight.toPrecision(4)));
