/** Which word, or evidence, did most for a result against those that it overtook. */

import { element, percent } from "./element.js";
import { CALLED, EVIDENCE, NOTHING, brought, contribution, sum, whole } from "./scores.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/** @typedef {import("./types.js").Word} Word */
/** @typedef {import("./story.js").Move & {gain: number}} Rise and how much it matters */
/** @typedef {{kind: "word" | "other", gain: number, text: (Node | string)[], brief: (Node | string)[]}} Cause `brief` beside another one */

/** Share of the best reason from which a second one is named, too. */
const ALSO = 0.5;
/** Share of the largest rise from which another one is told instead, because a word caused it. */
const INSTEAD = 0.25;

/**
 * The rise to tell, and its reason: one that a word caused, if it is not much smaller than the largest.
 *
 * @param {State} state
 * @param {import("./story.js").Rankings} rankings
 * @param {Rise[]} risen largest first
 * @returns {[Rise, (Node | string)[]]}
 */
export function because(state, rankings, risen) {
  const first = causesOf(state, rankings, risen[0]);
  if (first[0].kind === "word") return [risen[0], inWords(first)];
  for (const rise of risen.slice(1)) {
    if (rise.gain < INSTEAD * risen[0].gain) break;
    const causes = causesOf(state, rankings, rise);
    if (causes[0].kind === "word") return [rise, inWords(causes)];
  }
  return [risen[0], inWords(first)];
}

/** @param {Cause[]} causes @returns {(Node | string)[]} */
function inWords([first, second, ...others]) {
  if (second && second.gain >= ALSO * first.gain) return [...first.text, " and ", ...second.brief];
  if (first.kind === "word") return first.text;
  // Words are what can be changed here, so the best one is named beside evidence, too.
  const word = [second, ...others].find((cause) => cause?.kind === "word");
  return word && word.gain > 0 ? [...first.text, " and ", ...word.brief] : first.text;
}

/**
 * Every word and every piece of evidence, best first.
 *
 * @param {State} state
 * @param {import("./story.js").Rankings} rankings
 * @param {Rise} rise
 * @returns {Cause[]}
 */
function causesOf({ weights, mix, words }, { uniform, weighted }, { document, was, now }) {
  const after = new Map(weighted.slice(now).map((one) => [one.id, one]));
  const ahead = uniform.slice(0, Number.isFinite(was) ? was - 1 : undefined).filter(({ id }) => after.has(id));
  const before = uniform.find(({ id }) => id === document.id) ?? document;
  const ones = weights.map(() => 1);
  /** @type {Cause[]} */
  const causes = words.map((word) => {
    // In units of the words alone, which the mix scales: what scales all of them alike is no reason.
    const near = (/** @type {ExplainedDocument} */ one, /** @type {number[]} */ own) =>
      sum(word.pieces.map((i) => contribution(one, own, NOTHING, i)));
    const lead = (/** @type {ExplainedDocument} */ other) =>
      near(document, weights) - near(/** @type {ExplainedDocument} */ (after.get(other.id)), weights) - (near(before, ones) - near(other, ones));
    const name = () => element("em", {}, word.text);
    const { full, brief } = counts(weights, word);
    return { kind: word.special ? "other" : "word", gain: sum(ahead.map(lead)), text: [name(), ` ${full}`], brief: [name(), ` ${brief}`] };
  });
  for (const kind of EVIDENCE) {
    const value = (/** @type {ExplainedDocument} */ one) => (brought(one, weights, mix, kind) * whole(one, mix)) / whole(one, NOTHING);
    const lead = (/** @type {ExplainedDocument} */ other) => value(document) - value(/** @type {ExplainedDocument} */ (after.get(other.id)));
    const text = [element("em", { className: kind }, CALLED[kind]), ` ${kind === "lexical" ? "are" : "is"} counted as well`];
    causes.push({ kind: "other", gain: sum(ahead.map(lead)), text, brief: text });
  }
  return causes.sort((a, b) => b.gain - a.gain);
}

/**
 * How much a word counts: its share of all weight, because scores are divided by that.
 *
 * @param {number[]} weights
 * @param {Word} word
 */
function counts(weights, word) {
  const own = sum(word.pieces.map((i) => weights[i])) / (sum(weights) || 1);
  const equal = word.pieces.length / weights.length;
  const end = word.special ? "" : "s";
  const matches = `match${word.special ? "" : "es"} it better`;
  if (Math.abs(own / equal - 1) < 0.005) return { full: matches, brief: matches }; // an adapter moved it
  const shares = percent(own) === percent(equal) ? [own, equal].map((share) => `${(100 * share).toFixed(1)}%`) : [own, equal].map(percent);
  return {
    full: `${word.special ? "have" : "has"} ${shares[0]} of the weight instead of ${shares[1]}`,
    brief: `count${end} ${own > equal ? "more" : "less"}`,
  };
}
