/** A result: one document in one column. */

import { decimal, element, measure, unseen } from "./element.js";
import { heat, highlighted } from "./highlight.js";
import { judge, judgementsOf } from "./judgements.js";
import { matchLine, reasons } from "./reason.js";
import { CALLED, EVIDENCE, NOTHING, brought } from "./scores.js";

/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/** @typedef {import("./types.js").State} State */
/**
 * `kept` is the factor by which contributions were cut off to the score; `was` is the rank in the other column, null if it
 * is not shown there; `next` is the document ranked below.
 *
 * @typedef {{rank: number, score: number, kept: number, was: number | null, next: ExplainedDocument | null}} Place
 */

/** Values of metadata are cut to this length. */
const LONGEST_VALUE = 40;

/**
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {{weighted: boolean, onExpand: () => void}} options
 */
export function card(document, state, { weighted, onExpand }) {
  const { id } = document;
  const [rank, score] = [new Text(), new Text()];
  const badge = element("span", { className: "badge" });
  const bar = scoreBar();
  const title = document.title ? element("h3", { className: "title" }) : null;
  const text = element("p", { className: "text" });
  const expand = element("button", { type: "button", className: "link expand", onclick: onExpand });
  const about = element("p", { className: "line chips" }, ...chips(document));
  const match = element("p", { className: "line match" });
  const yes = judgeButton(state.answer.query, id, true);
  const no = judgeButton(state.answer.query, id, false);
  const ask = element("button", { type: "button", className: "ask", ariaExpanded: "false", hidden: true, onclick: () => open(!state.opened.has(id)) });
  const why = element("div", { className: "why", hidden: true });
  const node = element(
    "li",
    { className: "card", "data-id": id, tabIndex: -1 },
    element("span", { className: "rank" }, unseen("rank "), rank),
    element(
      "div",
      { className: "card-head" },
      title,
      ...subtitle(document),
      badge,
      element("span", { className: "score" }, unseen("score "), score),
      bar.node,
    ),
    element("div", { className: "card-body" }, text, expand),
    element(
      "div",
      { className: "card-foot" },
      element("div", { className: "about" }, about, match),
      weighted ? ask : null,
      element("div", { className: "judge", role: "group", ariaLabel: `Relevance of ${id}` }, yes, no),
    ),
    why,
  );
  /** @type {import("./highlight.js").Mark[]} */
  let marks = [];
  /** What is drawn: whether the text is whole, and the word that the excerpt follows. @type {string | null} */
  let drawn = null;
  /** @type {Place | null} */
  let place = null;
  const next = () => place?.next?.title || place?.next?.id || "";
  const showWhy = () => {
    const shown = weighted && state.opened.has(id) && place?.next;
    if (why.hidden === Boolean(shown)) {
      ask.ariaExpanded = String(Boolean(shown));
      why.hidden = !shown;
    }
    if (shown) why.replaceChildren(...reasons(document, shown, state));
  };
  const open = (/** @type {boolean} */ wanted) => {
    if (wanted) state.opened.add(id);
    else state.opened.delete(id);
    showWhy();
  };

  return {
    node,
    document,
    /** Open or close the comparison with the next result. */
    ask: () => open(!state.opened.has(id)),
    /** Show its rank and score, and how it compares. @param {Place} now */
    put(now) {
      const before = place;
      place = now;
      if (rank.data !== String(now.rank)) rank.data = String(now.rank);
      if (score.data !== decimal(now.score)) score.data = decimal(now.score);
      bar.put(document, state, now, weighted);
      if (before?.rank !== now.rank || before.was !== now.was) {
        badge.replaceChildren(...(weighted ? moved(now) : left(now)));
        badge.classList.toggle("is-moved", now.was !== now.rank);
        badge.title = now.was !== now.rank ? (badge.querySelector(".unseen")?.textContent ?? "") : "";
      }
      if (weighted && before?.next?.id !== now.next?.id) {
        ask.hidden = now.next === null;
        ask.replaceChildren("Why above ", element("span", { className: now.next?.title ? "" : "id" }, next()), "?");
      }
      showWhy();
    },
    /** Show its text, with highlights, and the match line. @param {number[]} weights */
    light(weights) {
      const whole = state.expanded.has(id);
      const wanted = whole ? "whole" : state.active.join();
      if (drawn !== wanted) {
        const made = highlighted(document, state, whole);
        title?.replaceChildren(...made.title);
        text.replaceChildren(...made.text);
        text.classList.toggle("cut", made.shortened && !whole);
        marks = made.marks;
        expand.hidden = !made.shortened;
        expand.replaceChildren(whole ? "Show less" : "Show all", unseen(` of ${id}`));
        expand.ariaExpanded = String(whole);
        drawn = wanted;
      }
      heat(marks, document, state, weights);
      about.classList.toggle("away", state.active.length > 0);
      if (state.active.length || match.firstChild)
        match.replaceChildren(...(state.active.length ? matchLine(document, state, weights, { weighted, kept: place?.kept ?? 1 }) : []));
    },
    /** Show whether it was judged. */
    judged() {
      const relevant = judgementsOf(state.answer.query).get(id);
      yes.ariaPressed = String(relevant === true);
      no.ariaPressed = String(relevant === false);
    },
    /** Mark it, or take back the same mark. @param {boolean} relevant */
    judge: (relevant) => toggle(state.answer.query, id, relevant),
  };
}

/** What stands beside the title: the id, or the id as the headline; and which passage is shown. @param {ExplainedDocument} document */
function subtitle({ id, title, passage }) {
  const own = element(title ? "span" : "h3", { className: "id", title: id }, id);
  if (!passage || passage.of < 2) return [own];
  return [own, element("span", { className: "passage" }, `passage ${passage.number} of ${passage.of}`)];
}

/** A bar of what words, overall meaning and exact terms add; its whole length is a perfect score. */
function scoreBar() {
  const parts = ["words", "meaning", "terms"].map((name) => element("span", { className: `of-${name}` }));
  const node = element("span", { className: "score-bar", role: "img" }, ...parts);
  return {
    node,
    /** @param {ExplainedDocument} document @param {State} state @param {Place} place @param {boolean} weighted */
    put(document, state, { score, kept }, weighted) {
      const mix = weighted ? state.mix : NOTHING;
      const [lexical, pooled] = EVIDENCE.map((name) => kept * brought(document, state.weights, mix, name));
      const shares = { words: score - lexical - pooled, [CALLED.pooled]: pooled, [CALLED.lexical]: lexical };
      const told = Object.entries(shares).flatMap(([name, share]) => (share > 0.0005 ? [`${name} ${decimal(share)}`] : []));
      const title = told.join(", ") || "nothing matches";
      if (title === node.title) return;
      node.title = node.ariaLabel = title;
      Object.values(shares).forEach((share, n) => measure(parts[n], { share: Math.max(0, share) }));
    },
  };
}

/** @param {string} query @param {string} id @param {boolean} relevant */
const toggle = (query, id, relevant) => judge(query, id, judgementsOf(query).get(id) === relevant ? null : relevant);

/** @param {string} query @param {string} id @param {boolean} relevant */
function judgeButton(query, id, relevant) {
  const name = relevant ? "relevant" : "not relevant";
  return element(
    "button",
    { type: "button", ariaLabel: name, title: `${name} (key ${relevant ? "r" : "n"})`, onclick: () => toggle(query, id, relevant) },
    relevant ? "✓" : "✕",
  );
}

/** How a result of the right column moved. @param {Place} place */
function moved({ rank, was }) {
  if (was === null) return [seen("▲ new"), unseen("not shown with uniform weights")];
  if (was === rank) return [unseen("same rank with uniform weights")];
  const [sign, word] = was > rank ? ["▲", "up"] : ["▼", "down"];
  return [
    seen(`${sign}${Math.abs(was - rank)}`),
    unseen(`${word} ${Math.abs(was - rank)} from rank ${was} with uniform weights`),
  ];
}

/** Whether a result of the left column is gone from the right one. @param {Place} place */
const left = ({ was }) => (was === null ? [seen("drops out"), unseen("not shown with these weights")] : []);

/** @param {string} text */
const seen = (text) => element("span", { ariaHidden: "true" }, text);

/** @param {ExplainedDocument} document */
function chips({ metadata }) {
  const shown = (/** @type {unknown} */ value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  return Object.entries(metadata).map(([name, value]) => {
    const text = shown(value);
    const cut = text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
    return element("span", { className: "chip", title: `${name}: ${text}` }, element("span", { className: "name" }, `${name} `), cut);
  });
}
