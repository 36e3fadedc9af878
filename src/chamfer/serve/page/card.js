/** A result: one document in one column. */

import { decimal, element, unseen } from "./element.js";
import { heat, highlighted } from "./highlight.js";
import { judge, judgementsOf } from "./judgements.js";
import { matchLine, reasons } from "./reason.js";

/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/** @typedef {import("./types.js").State} State */
/**
 * `was` is the rank in the other column, null if it is not shown there; `next` is the document ranked below.
 *
 * @typedef {{rank: number, score: number, was: number | null, next: ExplainedDocument | null}} Place
 */

/**
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {{weighted: boolean, onExpand: () => void}} options
 */
export function card(document, state, { weighted, onExpand }) {
  const rank = element("span", { className: "rank" });
  const badge = element("span", { className: "badge" });
  const score = element("span", { className: "score", title: "score: higher is better" });
  const text = element("p", { className: "text" });
  const expand = element("button", { type: "button", className: "link", onclick: onExpand });
  const about = element("p", { className: "line" }, ...metadataLine(document));
  const match = element("p", { className: "line match" });
  const yes = judgeButton(state.answer.query, document.id, true);
  const no = judgeButton(state.answer.query, document.id, false);
  const summary = element("summary", {});
  const why = element("div", { className: "why-body" });
  const details = /** @type {HTMLDetailsElement} */ (
    element("details", { className: "why", open: state.opened.has(document.id) }, summary, why)
  );
  const node = element(
    "li",
    { className: "card", "data-id": document.id },
    rank,
    element(
      "div",
      { className: "card-body" },
      element("div", { className: "card-head" }, ...headline(document), badge, score),
      text,
      expand,
      element(
        "div",
        { className: "card-foot" },
        element("div", { className: "lines" }, about, match),
        element("div", { className: "judge", role: "group", ariaLabel: `Relevance of ${document.id}` }, yes, no),
      ),
      weighted ? details : null,
    ),
  );
  /** @type {import("./highlight.js").Mark[]} */
  let marks = [];
  /** @type {boolean | null} */
  let drawn = null;
  /** @type {Place | null} */
  let place = null;
  const showWhy = () => details.open && place?.next && why.replaceChildren(...reasons(document, place.next, state));
  details.addEventListener("toggle", () => {
    if (details.open) state.opened.add(document.id);
    else state.opened.delete(document.id);
    showWhy();
  });

  return {
    node,
    document,
    /** Show its rank and score, and how it compares. @param {Place} now */
    put(now) {
      place = now;
      rank.replaceChildren(unseen("rank "), String(now.rank));
      score.replaceChildren(unseen("score "), decimal(now.score));
      if (weighted) badge.replaceChildren(...moved(now));
      badge.classList.toggle("is-moved", weighted && now.was !== now.rank);
      details.hidden = now.next === null;
      if (now.next) summary.replaceChildren("Why ranked above ", element("span", { className: "id" }, now.next.id), "?");
      showWhy();
    },
    /** Show its text, with highlights, and the match line. @param {number[]} weights */
    light(weights) {
      const whole = state.expanded.has(document.id);
      if (drawn !== whole) {
        const made = highlighted(document, state, whole);
        text.replaceChildren(...made.nodes);
        marks = made.marks;
        expand.hidden = !made.shortened;
        expand.replaceChildren(whole ? "Show less" : "Show full text", unseen(` of ${document.id}`));
        expand.ariaExpanded = String(whole);
        drawn = whole;
      }
      heat(marks, document, state, weights);
      about.classList.toggle("away", state.active !== null);
      match.replaceChildren(...(state.active === null ? [] : matchDetails(document, state, weights, weighted, marks)));
    },
    /** Show whether it was judged. */
    judged() {
      const relevant = judgementsOf(state.answer.query).get(document.id);
      yes.ariaPressed = String(relevant === true);
      no.ariaPressed = String(relevant === false);
    },
  };
}

/** The title with the id beside it, or the id alone; and which passage is shown. @param {ExplainedDocument} document */
function headline({ id, title, passage }) {
  const part =
    passage && passage.of > 1
      ? [element("span", { className: "passage" }, `passage ${passage.number} of ${passage.of}`)]
      : [];
  if (!title) return [element("h3", { className: "id" }, id), ...part];
  return [element("h3", { className: "title" }, title), element("span", { className: "id" }, id), ...part];
}

/** @param {string} query @param {string} id @param {boolean} relevant */
function judgeButton(query, id, relevant) {
  return element(
    "button",
    {
      type: "button",
      onclick: () => judge(query, id, judgementsOf(query).get(id) === relevant ? null : relevant),
    },
    element("span", { ariaHidden: "true" }, relevant ? "✓ " : "✕ "),
    relevant ? "relevant" : "not relevant",
  );
}

/** @param {Place} place */
function moved({ rank, was }) {
  const seen = (/** @type {string} */ text) => element("span", { ariaHidden: "true" }, text);
  if (was === null) return [seen("▲ new"), unseen("not shown with uniform weights")];
  if (was === rank) return [unseen("same rank with uniform weights")];
  const [sign, word] = was > rank ? ["▲", "up"] : ["▼", "down"];
  return [
    seen(`${sign}${Math.abs(was - rank)}`),
    unseen(`${word} ${Math.abs(was - rank)} from rank ${was} with uniform weights`),
  ];
}

/** @param {ExplainedDocument} document */
function metadataLine({ metadata }) {
  const shown = (/** @type {unknown} */ value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  return Object.entries(metadata).flatMap(([name, value], n) => [
    n ? " · " : "",
    element("span", { className: "name" }, `${name} `),
    shown(value),
  ]);
}

/**
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {number[]} weights
 * @param {boolean} weighted
 * @param {import("./highlight.js").Mark[]} marks
 */
function matchDetails(document, state, weights, weighted, marks) {
  const line = matchLine(document, state, weights, weighted);
  const i = /** @type {number} */ (state.active);
  const { span } = document.matches[i];
  if (span !== null && !marks.some(({ tokens }) => tokens.includes(i))) line.push(" · outside this excerpt");
  return line;
}
