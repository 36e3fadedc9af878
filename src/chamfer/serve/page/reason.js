/** Why a document ranks above the next one: the words and the evidence that make the difference. */

import { decimal, element, measure, percent, quiet, signed, unseen } from "./element.js";
import { CALLED, EVIDENCE, NOTHING, brought, closeness, contribution, differences, share, sum, total } from "./scores.js";

/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/** @typedef {import("./types.js").State} State */

/** @typedef {[string, number, string]} Row name, difference and kind: a class of search.css */

const SHOWN = 4;

/**
 * @param {ExplainedDocument} upper
 * @param {ExplainedDocument} lower
 * @param {State} state
 * @returns {HTMLElement[]}
 */
export function reasons(upper, lower, state) {
  const all = differences(upper, lower, state.weights, state.mix, state.words);
  const text = all.filter(({ word }) => !word.special);
  const special = all.filter(({ word }) => word.special);
  /** @type {Row[]} */
  const rows = text.slice(0, SHOWN).map(({ word, difference }) => [word.text, difference, ""]);
  const others = sum(text.slice(SHOWN).map(({ difference }) => difference));
  if (text.length > SHOWN) rows.push(["all other words", others, "quiet"]);
  if (special.length) rows.push(["special tokens", sum(special.map(({ difference }) => difference)), "quiet"]);
  const { weights, mix } = state;
  for (const name of EVIDENCE.filter((each) => mix[each] > 0))
    rows.push([CALLED[name], brought(upper, weights, mix, name) - brought(lower, weights, mix, name), name]);
  const longest = Math.max(1e-12, ...rows.map(([, difference]) => Math.abs(difference)));
  const gap = total(upper, weights, mix) - total(lower, weights, mix);
  const carried = share(upper, weights, mix, special.flatMap(({ word }) => word.pieces));
  return [
    element("ul", { className: "reasons" }, ...rows.map((one) => row(one, longest))),
    quiet(`Total ${signed(gap, 4)}. Special tokens account for ${percent(carried)} of this score.`),
  ];
}

/** @param {Row} reason @param {number} longest */
function row([name, difference, kind], longest) {
  const bar = element("span", { className: difference < 0 ? "lean against" : "lean for", ariaHidden: "true" });
  measure(bar, { length: Math.abs(difference) / longest });
  return element(
    "li",
    { className: kind },
    element("span", { className: "reason-word" }, name),
    bar,
    element("span", { className: "number" }, signed(difference, 4)),
    unseen(difference < 0 ? " in favour of the other document" : " in favour of this document"),
  );
}

/**
 * One line about what the active word matched in a document.
 *
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {number[]} weights weights of the document's column
 * @param {{weighted: boolean, kept: number}} column whether it is the weighted one, where the mix counts; and the factor
 *   by which contributions were cut off to the score
 */
export function matchLine(document, state, weights, { weighted, kept }) {
  const { active } = state;
  const mix = weighted ? state.mix : NOTHING;
  const words = [...new Set(active.map((i) => document.matches[i].word))];
  const cosine = sum(active.map((i) => closeness(document.matches[i].distance, state.answer.form))) / active.length;
  const adds = kept * sum(active.map((i) => contribution(document, weights, mix, i)));
  const part = percent(share(document, weights, mix, active));
  const found = words.flatMap((word, n) => [n ? ", " : "", element("strong", {}, word)]);
  return [...found, ` · similarity ${decimal(cosine, 2)} · adds ${decimal(adds)} (${part} of the score)`];
}
