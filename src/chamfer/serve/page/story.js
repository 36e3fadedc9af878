/** What weighting changed: which results moved, and why the one that rose most did. */

import { counted, element } from "./element.js";
import { CALLED, EVIDENCE, NOTHING, brought, contribution, sum, whole } from "./scores.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/** @typedef {import("./types.js").Word} Word */
/**
 * Both rankings of all candidates, best first, as each column sees the documents.
 *
 * @typedef {{uniform: ExplainedDocument[], weighted: ExplainedDocument[]}} Rankings
 */
/** @typedef {{document: ExplainedDocument, was: number, now: number}} Move ranks from 1 */

/** Share of the best reason from which a second one is named, too. */
const ALSO = 0.5;
/** Of a title in the sentence, which has one line. */
const LONGEST_NAME = 40;

/**
 * @param {Rankings} rankings
 * @param {number} shown number of results in a column
 * @returns {{moved: Move[], entered: Move[], left: Move[]}} moves among the results that are shown, best first
 */
export function movesOf({ uniform, weighted }, shown) {
  const before = new Map(uniform.map(({ id }, n) => [id, n + 1]));
  const all = weighted.map((document, n) => ({ document, was: before.get(document.id) ?? Infinity, now: n + 1 }));
  return {
    moved: all.filter(({ was, now }) => was !== now && was <= shown && now <= shown),
    entered: all.filter(({ was, now }) => now <= shown && was > shown),
    left: all.filter(({ was, now }) => was <= shown && now > shown),
  };
}

/**
 * How many results moved, in a few words to see and in full for a screen reader.
 *
 * @param {Rankings} rankings
 * @param {number} shown
 */
export function summary(rankings, shown) {
  const { moved, entered, left } = movesOf(rankings, shown);
  if (!moved.length && !entered.length) return { short: "nothing moved", full: "No result moved." };
  const short = [moved.length ? `${moved.length} moved` : "", entered.length ? `${entered.length} new` : ""];
  const full = [
    moved.length ? `${counted(moved.length, "result")} moved` : "",
    entered.length ? `${entered.length} entered the top ${shown}` : "",
    left.length ? `${left.length} left it` : "",
  ];
  return { short: short.filter(Boolean).join(", "), full: `${full.filter(Boolean).join(", ")}.` };
}

/**
 * One sentence on the result that rose most, and the word or evidence that lifted it.
 *
 * @param {State} state
 * @param {Rankings} rankings
 * @returns {(Node | string)[]}
 */
export function story(state, rankings) {
  const { moved, entered } = movesOf(rankings, state.shown);
  const risen = [...moved, ...entered].filter(({ was, now }) => now < was);
  if (risen.length === 0) return [`Both rankings have the same top ${Math.min(state.shown, rankings.weighted.length)}.`];
  // A rise near the top is worth more, as in nDCG.
  const gain = (/** @type {Move} */ { was, now }) => 1 / Math.log2(1 + now) - 1 / Math.log2(1 + was);
  const [best] = risen.sort((a, b) => gain(b) - gain(a));
  const { was, now } = best;
  const rise = Number.isFinite(was) ? ` rises from ${was} to ${now} because ` : ` enters at ${now} because `;
  return [name(best.document), rise, ...reason(state, rankings, best), "."];
}

/** @param {ExplainedDocument} document */
function name({ title, id }) {
  const text = title || id;
  return element("strong", {}, text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME).trimEnd()}…` : text);
}

/**
 * Which word, or evidence, did most for a document against those that it overtook; two, if both did.
 *
 * @param {State} state
 * @param {Rankings} rankings
 * @param {Move} move
 * @returns {(Node | string)[]}
 */
function reason({ weights, mix, words }, { uniform, weighted }, { document, was, now }) {
  const after = new Map(weighted.slice(now).map((one) => [one.id, one]));
  const ahead = uniform.slice(0, Number.isFinite(was) ? was - 1 : undefined).filter(({ id }) => after.has(id));
  const before = uniform.find(({ id }) => id === document.id) ?? document;
  const ones = weights.map(() => 1);
  /** @type {{gain: number, text: (Node | string)[]}[]} */
  const causes = words.map((word) => {
    // In units of the words alone, which the mix scales: what scales all of them alike is no reason.
    const near = (/** @type {ExplainedDocument} */ one, /** @type {number[]} */ own) =>
      sum(word.pieces.map((i) => contribution(one, own, NOTHING, i)));
    const lead = (/** @type {ExplainedDocument} */ other) =>
      near(document, weights) - near(/** @type {ExplainedDocument} */ (after.get(other.id)), weights) - (near(before, ones) - near(other, ones));
    return { gain: sum(ahead.map(lead)), text: [element("em", {}, word.text), ` ${counts(weights, word)}`] };
  });
  for (const kind of EVIDENCE) {
    const value = (/** @type {ExplainedDocument} */ one) => (brought(one, weights, mix, kind) * whole(one, mix)) / whole(one, NOTHING);
    const lead = (/** @type {ExplainedDocument} */ other) => value(document) - value(/** @type {ExplainedDocument} */ (after.get(other.id)));
    causes.push({ gain: sum(ahead.map(lead)), text: [element("em", { className: kind }, CALLED[kind]), kind === "lexical" ? " count too" : " counts too"] });
  }
  const [first, second] = causes.sort((a, b) => b.gain - a.gain);
  return second && second.gain >= ALSO * first.gain ? [...first.text, " and ", ...second.text] : first.text;
}

/**
 * How much a word counts, compared with uniform weights.
 *
 * @param {number[]} weights
 * @param {Word} word
 */
function counts(weights, word) {
  const own = sum(word.pieces.map((i) => weights[i])) / (sum(weights) || 1);
  const ratio = own / (word.pieces.length / weights.length);
  const verb = word.special ? "count" : "counts";
  if (ratio < 0.02) return `no longer ${verb}`;
  if (Math.abs(ratio - 1) < 0.02) return "matches it better"; // an adapter moved it
  if (ratio < 1) return `${verb} ${Math.abs(ratio - 0.5) < 0.06 ? "half as much" : `only ${Math.round(100 * ratio)}% as much`}`;
  if (ratio < 1.5) return `${verb} ${Math.round(100 * (ratio - 1))}% more`;
  return `${verb} ${Math.abs(ratio - 2) < 0.12 ? "twice" : `${ratio.toFixed(1)} times`} as much`;
}
