/** What changed, in one sentence: which result moved, and because of what. */

import { counted, element } from "./element.js";
import { because } from "./cause.js";
import { ownChange } from "./ownchange.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/**
 * Rankings of all candidates, best first: both columns, as each sees the documents, and the right one before the user
 * changed anything.
 *
 * @typedef {{uniform: ExplainedDocument[], weighted: ExplainedDocument[], served: {id: string}[]}} Rankings
 */
/** @typedef {{document: ExplainedDocument, was: number, now: number}} Move ranks from 1 */

/** Of a title in the sentence, which has one line. */
const LONGEST_NAME = 40;

/**
 * @param {{id: string}[]} before
 * @param {ExplainedDocument[]} after
 * @param {number} shown number of results in a column
 * @returns {{moved: Move[], entered: Move[], left: Move[]}} moves among the results that are shown, best first
 */
export function movesOf(before, after, shown) {
  const ranks = new Map(before.map(({ id }, n) => [id, n + 1]));
  const all = after.map((document, n) => ({ document, was: ranks.get(document.id) ?? Infinity, now: n + 1 }));
  return {
    moved: all.filter(({ was, now }) => was !== now && was <= shown && now <= shown),
    entered: all.filter(({ was, now }) => now <= shown && was > shown),
    left: all.filter(({ was, now }) => was <= shown && now > shown),
  };
}

/**
 * How many results uniform weights rank elsewhere, in a few words to see and in full for a screen reader.
 *
 * @param {Rankings} rankings
 * @param {number} shown
 */
export function summary({ uniform, weighted }, shown) {
  const { moved, entered, left } = movesOf(uniform, weighted, shown);
  if (!moved.length && !entered.length) return { short: "nothing moved", full: "No result moved." };
  const short = [moved.length ? `${moved.length} moved` : "", entered.length ? `${entered.length} new` : ""];
  const both = [entered.length ? `${entered.length} entered` : "", left.length ? `${left.length} left` : ""].filter(Boolean);
  const full = [
    moved.length ? `${counted(moved.length, "result")} moved` : "",
    both.length ? `${both.join(" and ")} the top ${shown}` : "",
  ];
  return { short: short.filter(Boolean).join(", "), full: `${full.filter(Boolean).join(", ")}.` };
}

/**
 * What the user's own change did to the ranking or, without one, what the weights do to that of uniform ones.
 *
 * @param {State} state
 * @param {Rankings} rankings
 * @returns {(Node | string)[]}
 */
export function story(state, rankings) {
  const changed = ownChange(state);
  return changed === null ? weighting(state, rankings) : change(state, rankings, changed);
}

// A move near the top matters more, as in nDCG.
const gain = (/** @type {Move} */ { was, now }) => 1 / Math.log2(1 + now) - 1 / Math.log2(1 + was);

/** @param {State} state @param {Rankings} rankings */
function weighting(state, rankings) {
  const { moved, entered } = movesOf(rankings.uniform, rankings.weighted, state.shown);
  const risen = [...moved, ...entered].filter(({ was, now }) => now < was).sort((a, b) => gain(b) - gain(a));
  if (risen.length === 0) return [`Both rankings have the same top ${Math.min(state.shown, rankings.weighted.length)}.`];
  const [move, reason] = because(state, rankings, risen.map((one) => ({ ...one, gain: gain(one) })));
  return [name(move.document), ` ${wentTo(move, state.shown)} because `, ...reason, "."];
}

/**
 * @param {State} state
 * @param {Rankings} rankings
 * @param {import("./ownchange.js").OwnChange} changed
 */
function change({ shown }, { uniform, served, weighted }, { told, lowers }) {
  const { moved, entered, left } = movesOf(served, weighted, shown);
  const all = [...moved, ...entered, ...left].sort((a, b) => gain(b) - gain(a));
  if (all.length === 0) return [...told, `: no result in the top ${Math.min(shown, weighted.length)} moves.`];
  // Less weight for a word is best seen in the result that loses by it.
  const move = all[lowers ? all.length - 1 : 0];
  // The other column, the lines and the badges compare with uniform weights.
  const other = uniform.findIndex(({ id }) => id === move.document.id) + 1;
  const beside = other === move.was ? "" : ` (${other} with uniform weights)`;
  return [...told, ": ", name(move.document), ` ${wentTo(move, shown)}${beside}.`];
}

/** @param {Move} move @param {number} shown */
function wentTo({ was, now }, shown) {
  if (now > shown) return `drops out of the top ${shown}`;
  if (was > shown) return `enters the top ${shown} at ${now}`;
  return `${now < was ? "rises" : "falls"} from ${was} to ${now}`;
}

/** @param {ExplainedDocument} document */
function name({ title, id }) {
  const text = title || id;
  return element("strong", {}, text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME).trimEnd()}…` : text);
}
