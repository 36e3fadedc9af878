/** The outcome of learning: what the new weights would change. */

import { counted, decimal, element, measure, quiet, sentence, signed, unseen } from "./element.js";

/** @typedef {import("./types.js").LearnResponse} LearnResponse */

const SHOWN = 12;

/**
 * @param {HTMLElement} section
 * @param {LearnResponse} learnt
 * @param {{onUse: () => void, onDiscard: () => void}} answers
 */
export function showLearnt(section, learnt, { onUse, onDiscard }) {
  const moved = learnt.moved.filter(({ before, after }) => before !== after);
  const up = moved.filter(({ before, after }) => after < before).length;
  const down = moved.length - up;
  const better = learnt.ndcg_after - learnt.ndcg_before > 5e-4;
  const parts = [
    element("h2", { id: "learnt-title" }, `Version ${learnt.version}, not in use yet`),
    element(
      "div",
      { className: "figures" },
      figure("nDCG@10, current", decimal(learnt.ndcg_before)),
      figure("nDCG@10, learnt", decimal(learnt.ndcg_after), gained(learnt.ndcg_after - learnt.ndcg_before)),
      figure("relevant documents moved", `▲${up} ▼${down}`, null, `${up} up, ${down} down`),
    ),
    element(
      "p",
      {},
      "Chosen: ",
      element("strong", {}, learnt.chosen),
      `, based on ${counted(learnt.queries, "query")}. ${sentence(learnt.why)}`,
    ),
    ...learnt.left_out.map((reason) => quiet(sentence(reason))),
    better
      ? quiet("Measured on the queries that were learnt from, so expect a smaller gain on others.")
      : element("p", { className: "doubt" }, "These weights do no better on your queries. More judgements may help."),
    element(
      "div",
      { className: "actions" },
      element("button", { type: "button", className: better ? "primary" : "", onclick: onUse }, "Use these weights"),
      element("button", { type: "button", onclick: onDiscard }, "Discard"),
    ),
    element("div", { className: "sides" }, documents(learnt), tokens(learnt)),
  ];
  section.replaceChildren(...parts);
}

/** @param {number} difference */
const gained = (difference) => (Math.abs(difference) < 5e-4 ? "no change" : signed(difference));

/** @param {string} name @param {string} value @param {string | null} [change] @param {string} [spoken] */
function figure(name, value, change = null, spoken) {
  return element(
    "p",
    { className: "figure" },
    element("span", { className: "quiet" }, name),
    element("strong", { ariaHidden: spoken ? "true" : null }, value),
    spoken ? unseen(spoken) : null,
    change === null ? null : element("span", { className: "quiet" }, change),
  );
}

/** @param {LearnResponse} learnt */
function documents({ moved }) {
  const most = [...moved].sort((a, b) => Math.abs(b.before - b.after) - Math.abs(a.before - a.after)).slice(0, SHOWN);
  const rows = most.map(({ query, id, before, after }) => {
    const sign = after < before ? "▲" : after > before ? "▼" : "=";
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, element("span", { className: "id" }, id), quiet(query)),
      element("td", { className: "number" }, `${before} → ${after} ${sign}`),
    );
  });
  return table("Relevant documents", ["document", "rank"], rows, "No relevant documents.");
}

/** @param {LearnResponse} learnt */
function tokens({ changed }) {
  const shown = changed.filter(({ before, after }) => before !== after).slice(0, SHOWN);
  const heaviest = Math.max(1e-9, ...shown.map(({ after }) => after));
  const rows = shown.map(({ token, before, after }) => {
    const cell = element("td", { className: "number" }, `${decimal(before, 2)} → ${decimal(after, 2)}`);
    measure(cell, { length: after / heaviest });
    return element("tr", {}, element("th", { scope: "row" }, element("code", {}, token)), cell);
  });
  return table("Largest weight changes", ["token", "weight"], rows, "No weights changed.", "bars");
}

/**
 * @param {string} caption
 * @param {string[]} names
 * @param {HTMLElement[]} rows
 * @param {string} none text to show if there are no rows
 * @param {string} [kind]
 */
function table(caption, names, rows, none, kind = "") {
  if (rows.length === 0) return element("section", {}, element("h3", {}, caption), quiet(none));
  const head = names.map((name, n) => element("th", { scope: "col", className: n ? "number" : "" }, name));
  return element(
    "section",
    {},
    element("h3", {}, caption),
    element(
      "table",
      { className: kind },
      element("caption", { className: "unseen" }, caption),
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...rows),
    ),
  );
}
