/** Why a document ranks above the next one: the words and the evidence that make the difference. */

import { decimal, element, measure, percent, quiet, signed, unseen } from "./element.js";
import { EVIDENCE, NOTHING, brought, contribution, differences, score, share, sum } from "./scores.js";

/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/** @typedef {import("./types.js").State} State */

const SHOWN = 4;

/** What the evidence is called, as beside the sliders. */
export const CALLED = { lexical: "keywords", pooled: "overall meaning" };

/**
 * @param {ExplainedDocument} upper
 * @param {ExplainedDocument} lower
 * @param {State} state
 * @returns {HTMLElement[]}
 */
export function reasons(upper, lower, state) {
  const all = differences(upper, lower, state.weights, state.words);
  const text = all.filter(({ word }) => !word.special);
  const special = all.filter(({ word }) => word.special);
  /** @type {[string, number, boolean][]} */
  const rows = text.slice(0, SHOWN).map(({ word, difference }) => [word.text, difference, false]);
  const others = sum(text.slice(SHOWN).map(({ difference }) => difference));
  if (text.length > SHOWN) rows.push(["all other words", others, true]);
  if (special.length) rows.push(["special tokens", sum(special.map(({ difference }) => difference)), true]);
  const { weights, mix } = state;
  for (const name of EVIDENCE.filter((each) => mix[each] > 0))
    rows.push([CALLED[name], brought(upper, weights, mix, name) - brought(lower, weights, mix, name), true]);
  const longest = Math.max(1e-12, ...rows.map(([, difference]) => Math.abs(difference)));
  const gap = score(upper, weights, mix) - score(lower, weights, mix);
  const carried = share(upper, weights, mix, special.flatMap(({ word }) => word.pieces));
  return [
    element("ul", { className: "reasons" }, ...rows.map((one) => row(one, longest))),
    quiet(`Total ${signed(gap, 4)}. Special tokens account for ${percent(carried)} of this score.`),
  ];
}

/** @param {[string, number, boolean]} reason name, difference, and whether to mute it @param {number} longest */
function row([name, difference, back], longest) {
  const bar = element("span", { className: difference < 0 ? "lean against" : "lean for", ariaHidden: "true" });
  measure(bar, { length: Math.abs(difference) / longest });
  return element(
    "li",
    { className: back ? "quiet" : "" },
    element("span", { className: "reason-word" }, name),
    bar,
    element("span", { className: "number" }, signed(difference, 4)),
    unseen(difference < 0 ? " in favour of the other document" : " in favour of this document"),
  );
}

/**
 * One line about what the active token matched in a document.
 *
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {number[]} weights weights of the document's column
 * @param {boolean} weighted whether it is the weighted column, where the mix counts
 */
export function matchLine(document, state, weights, weighted) {
  const i = /** @type {number} */ (state.active);
  const { word, distance } = document.matches[i];
  const part = percent(share(document, weights, weighted ? state.mix : NOTHING, [i]));
  const added = `contributes ${decimal(contribution(document, weights, i))} (${part})`;
  return [element("strong", {}, word), ` · distance ${decimal(distance, 2)} · ${added}`];
}
