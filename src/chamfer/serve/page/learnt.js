/** What learning found: before and after. */

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
  const better = learnt.ndcg_after - learnt.ndcg_before > 5e-4;
  const parts = [
    element("h2", { id: "learnt-title" }, `Version ${learnt.version}, not in use yet`),
    element(
      "div",
      { className: "figures" },
      figure("nDCG@10 now", decimal(learnt.ndcg_before)),
      figure("nDCG@10 learnt", decimal(learnt.ndcg_after), gained(learnt.ndcg_after - learnt.ndcg_before)),
      figure("relevant moved", `▲${up} ▼${moved.length - up}`, null, `${up} up, ${moved.length - up} down`),
    ),
    element(
      "p",
      {},
      "Chosen: ",
      element("strong", {}, learnt.chosen),
      `, from ${counted(learnt.queries, "query")}. ${sentence(learnt.why)}`,
    ),
    quiet("Measured on the marked queries themselves, so take it as a check that learning did what the marks say."),
    ...learnt.left_out.map((reason) => quiet(sentence(reason))),
    better ? null : element("p", { className: "doubt" }, "These weights are no better on your marks. More marks may help."),
    element(
      "div",
      { className: "actions" },
      element("button", { type: "button", className: better ? "primary" : "", onclick: onUse }, "Use these weights"),
      element("button", { type: "button", onclick: onDiscard }, "Discard"),
    ),
    element("div", { className: "sides" }, documents(learnt), tokens(learnt)),
  ];
  section.replaceChildren(...parts.filter((part) => part !== null));
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
  return table("Relevant documents", ["document", "rank"], rows, "No relevant document has another rank.");
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
  return table("Tokens that changed most", ["token", "weight"], rows, "No weight changed.", "bars");
}

/**
 * @param {string} caption
 * @param {string[]} names
 * @param {HTMLElement[]} rows
 * @param {string} none what is said where there are no rows
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
