/** What the user changed, in words: weights of the query's words, and the mix. */

import { decimal, element, percent } from "./element.js";
import { isMixChanged } from "./mix.js";
import { CALLED, EVIDENCE, partsOf } from "./scores.js";
import { isChanged, served, weightOf } from "./weighing.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {{told: (Node | string)[], lowers: boolean}} OwnChange a sentence without its end; whether all that changed is less now */
/** @typedef {{text: Node, before: string, after: string, rises: boolean}} Part */

/** Changes that are named one by one; the sentence has one line. */
const NAMED = 2;

/** @param {State} state @returns {OwnChange | null} null if everything is as the server has it */
export function ownChange(state) {
  const parts = [...words(state), ...mix(state)];
  if (parts.length === 0) return null;
  const lowers = parts.every(({ rises }) => !rises);
  if (parts.length > NAMED) return { told: [`You changed ${isMixChanged(state) ? `${parts.length - 1} words and the mix` : `${parts.length} words`}`], lowers };
  const told = parts.flatMap(({ text, before, after, rises }, n) => {
    const verb = n && rises === parts[n - 1].rises ? "" : rises ? "raised " : "lowered ";
    return [n ? ` and ${verb}` : `You ${verb}`, text, ` from ${before} to ${after}`];
  });
  return { told, lowers };
}

/** @param {State} state @returns {Part[]} */
function words(state) {
  const changed = state.words.filter(({ pieces }) => isChanged(state, pieces));
  // A word that the query repeats has one weight.
  const once = changed.filter((word, n) => changed.findIndex(({ text }) => text === word.text) === n);
  return once.map(({ text, pieces }) => {
    const [before, after] = [served(state), state.weights].map((weights) => weightOf(weights, pieces));
    return { text: element("em", {}, text), before: decimal(before, 2), after: decimal(after, 2), rises: after > before };
  });
}

/** The part of a perfect score whose share changed most. @param {State} state @returns {Part[]} */
function mix(state) {
  const [document] = state.answer.documents;
  if (!isMixChanged(state) || !document) return [];
  const shares = (/** @type {import("./types.js").Mix} */ own) => {
    const parts = partsOf(document, own);
    const all = parts.words + parts.lexical + parts.pooled;
    return { words: parts.words / all, lexical: parts.lexical / all, pooled: parts.pooled / all };
  };
  const [before, after] = [shares(state.servedMix), shares(state.mix)];
  const change = (/** @type {"words" | import("./types.js").Evidence} */ name) => after[name] - before[name];
  const [most] = /** @type {const} */ (["words", ...EVIDENCE]).toSorted((a, b) => Math.abs(change(b)) - Math.abs(change(a)));
  const text = element("em", { className: most === "words" ? "" : most }, most === "words" ? "all words" : CALLED[most]);
  return [{ text, before: percent(before[most]), after: percent(after[most]), rises: change(most) > 0 }];
}
