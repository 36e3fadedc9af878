/** The outcome of learning: whether it is better, in words, and what it would change for each judged query. */

import { changeList } from "./changes.js";
import { dumbbell } from "./dumbbell.js";
import { counted, decimal, element, measure, quiet, unseen } from "./element.js";

/** @typedef {import("./types.js").LearnResponse} LearnResponse */
/** @typedef {import("./types.js").ComparedQuery} ComparedQuery */
/** @typedef {import("./types.js").MovedDocument} MovedDocument */

/** Queries and tokens to show at first. */
const SHOWN = 12;
/** The last rank on the axis; those behind it stand there, too. */
const LAST = 100;
const TICKS = [1, 3, 10, 30, 100];

/**
 * @param {HTMLElement} section
 * @param {LearnResponse} learnt
 * @param {{onUse: () => void, onKeep: () => void, onDiscard: () => void}} answers
 */
export function showLearnt(section, learnt, { onUse, onKeep, onDiscard }) {
  const isBetter = learnt.verdict === "better";
  const button = (/** @type {string} */ label, /** @type {() => void} */ onclick, className = "") =>
    element("button", { type: "button", className, onclick }, label);
  section.replaceChildren(
    element("h2", { id: "learnt-title", className: "verdict" }, learnt.sentence),
    element(
      "div",
      { className: "figures" },
      figure("queries get better", String(learnt.better), "▲"),
      figure("get worse", String(learnt.worse), "▼"),
      figure("stay the same", String(learnt.unchanged), "="),
      figure("nDCG@10, where 1 is perfect", `${decimal(learnt.ndcg_before)} → ${decimal(learnt.ndcg_after)}`),
    ),
    quiet(basis(learnt)),
    ...learnt.left_out.map((reason) => quiet(reason)),
    element(
      "div",
      { className: "actions" },
      // What is no better is kept among the versions, but nobody is invited to use it.
      ...(isBetter
        ? [button("Use these weights", onUse, "primary"), button("Keep marking", onKeep)]
        : [button("Keep marking", onKeep, "primary")]),
      button(`Discard version ${learnt.version}`, onDiscard),
    ),
    quiet(`Stored as version ${learnt.version} under Weights; not in use.`),
    beforeAndAfter(learnt.compared),
    weightChanges(learnt),
  );
}

/** What the figures were measured on. @param {LearnResponse} learnt */
function basis({ held_out, known, compared, queries }) {
  const from = `Learnt from ${counted(queries, "judged query")}.`;
  if (!held_out) return `${from} Measured on the queries that were learnt from, so the new weights look better than they are.`;
  const left = known ? ` ${counted(known, "query")} ${known === 1 ? "is" : "are"} not counted, because the weights in use were learnt from ${known === 1 ? "it" : "them"}.` : "";
  const each = compared.length === 1 ? "one query, searched with weights learnt without it" : `${compared.length} queries, each searched with weights learnt without it`;
  return `${from} Measured on ${each}.${left}`;
}

/** @param {string} name @param {string} value @param {string} [sign] */
function figure(name, value, sign) {
  return element(
    "p",
    { className: "figure" },
    element("strong", {}, sign ? element("span", { className: "sign", ariaHidden: "true" }, sign) : null, value),
    element("span", { className: "quiet" }, name),
  );
}

/** Queries in the order of what they say: those that lose most first, then those that gain. @param {ComparedQuery[]} compared */
function beforeAndAfter(compared) {
  const gain = (/** @type {ComparedQuery} */ one) => one.ndcg_after - one.ndcg_before;
  const ordered = [...compared].sort((a, b) => Math.abs(gain(b)) - Math.abs(gain(a)) || a.query.localeCompare(b.query));
  const axis = element("div", { className: "rank-axis", ariaHidden: "true" }, ...TICKS.map(tick));
  const list = element("ol", { className: "compared-queries" });
  const more = element("button", { type: "button" }, `Show all ${ordered.length} queries`);
  const show = (/** @type {number} */ count) => list.replaceChildren(...ordered.slice(0, count).map(query));
  more.addEventListener("click", () => {
    show(ordered.length);
    more.remove();
    list.querySelectorAll("a")[SHOWN]?.focus();
  });
  show(SHOWN);
  return element(
    "section",
    {},
    element("h3", {}, "Ranks of relevant documents, before and after"),
    axis,
    list,
    ordered.length > SHOWN ? element("p", { className: "more" }, more) : null,
  );
}

/** @param {number} rank */
function tick(rank) {
  const made = element("span", {}, rank === 1 ? "rank 1" : String(rank));
  measure(made, { at: along(rank) });
  return made;
}

/** Where a rank is on the axis: the first ranks matter most, so each has more room than the next. @param {number} rank */
const along = (rank) => Math.log(Math.min(rank, LAST)) / Math.log(LAST);

/** @param {ComparedQuery} compared */
function query({ query: text, ndcg_before, ndcg_after, documents }) {
  const verdict = ndcg_after > ndcg_before ? "better" : ndcg_after < ndcg_before ? "worse" : "unchanged";
  return element(
    "li",
    { className: "compared-query" },
    element(
      "p",
      { className: "compared-head" },
      element("a", { href: `/?${new URLSearchParams({ q: text })}`, "data-query": text }, text),
      element("span", { className: `query-outcome ${verdict}` }, verdict),
    ),
    element("ul", {}, ...documents.map(document)),
  );
}

/** @param {MovedDocument} moved */
function document({ id, before, after }) {
  const line = dumbbell(along(before ?? LAST), along(after ?? LAST));
  line.classList.toggle("still", before === after);
  const rank = (/** @type {number | null} */ value) => (value === null ? "not found" : String(value));
  const spoken = before === after ? `rank ${rank(before)}, unchanged` : `rank ${rank(before)} before, ${rank(after)} after`;
  return element(
    "li",
    { className: "judged-document" },
    element("span", { className: "id" }, id),
    line,
    element("span", { className: "number", ariaHidden: "true" }, before === after ? rank(before) : `${rank(before)} → ${rank(after)}`),
    unseen(spoken),
  );
}

/** @param {LearnResponse} learnt */
function weightChanges({ changed }) {
  const shown = changed.slice(0, SHOWN);
  if (shown.length === 0) return quiet("No weight of a token changed.");
  return element("details", { className: "change-details" }, element("summary", {}, "Largest weight changes"), ...changeList(shown));
}
