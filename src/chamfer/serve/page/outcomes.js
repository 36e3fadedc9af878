/** What happened to each query: a table with a filter, whose rows open to say why. */

import { counted, decimal, element, signed, unseen } from "./element.js";
import { because } from "./overtaken.js";

/** @typedef {import("./evaluation.js").Evaluation} Evaluation */
/** @typedef {import("./evaluation.js").System} System */
/** @typedef {import("./evaluation.js").Change} Change */
/** @typedef {"all" | "lost" | "won" | "unchanged"} Shown */
/** @typedef {{id: string, text: string, before: number, after: number, difference: number}} Outcome */

/** Rows to show at first, and to add at a time: a thousand rows would make a phone slow. */
const ROWS = 50;

const CALLED = { all: "All", lost: "Lost", won: "Won", unchanged: "Same" };

/**
 * @param {Evaluation} evaluation
 * @param {System} baseline
 * @param {System[]} others
 * @param {import("./evaluation.js").LinkOf} linkOf
 */
export function outcomes(evaluation, baseline, others, linkOf) {
  /** @type {{system: System, shown: Shown, contains: string, rows: number, open: Set<string>}} */
  const state = { system: others[0], shown: "all", contains: "", rows: ROWS, open: new Set() };
  const body = element("tbody");
  const count = element("p", { className: "quiet", role: "status" });
  const more = element("button", { type: "button", onclick: () => ((state.rows += ROWS), show()) });
  const hint = element("p", { className: "quiet" });
  const [before, after] = [element("th", { scope: "col", className: "number of-system" }), element("th", { scope: "col", className: "number of-system" })];

  const choices = /** @type {const} */ (["all", "lost", "won", "unchanged"]).map((shown) => {
    const button = element("button", { type: "button", onclick: () => choose({ shown }) });
    return { shown, button };
  });
  const search = /** @type {HTMLInputElement} */ (
    element("input", { type: "search", autocomplete: "off", maxLength: 200, oninput: () => choose({ contains: search.value.trim().toLowerCase() }) })
  );
  const select = /** @type {HTMLSelectElement} */ (
    element(
      "select",
      { onchange: () => choose({ system: others[select.selectedIndex] }) },
      ...others.map((system) => element("option", { selected: system === state.system }, system.label)),
    )
  );

  /** @param {Partial<typeof state>} changes */
  function choose(changes) {
    Object.assign(state, { rows: ROWS, ...changes });
    show();
  }

  function show() {
    const { system, shown, contains, rows, open } = state;
    const all = outcomesOf(evaluation, system, baseline);
    for (const { shown: own, button } of choices) {
      button.textContent = `${CALLED[own]} ${ofKind(all, own).length}`;
      button.ariaPressed = String(own === shown);
    }
    const found = ofKind(all, shown).filter(({ id, text }) => `${id} ${text}`.toLowerCase().includes(contains));
    const explained = new Map(system.changes.map((change) => [change.query, change]));
    [before.textContent, after.textContent] = [baseline.label, system.label];
    body.replaceChildren(
      ...found.slice(0, rows).flatMap((outcome) => row(outcome, explained.get(outcome.id), system, open)),
    );
    count.textContent = found.length === evaluation.queries ? "" : `${counted(found.length, "query")} of ${evaluation.queries.toLocaleString("en")}`;
    more.hidden = found.length <= rows;
    more.textContent = `Show ${Math.min(ROWS, found.length - rows)} more`;
    hint.textContent =
      `${evaluation.main} of each query, largest loss first.` +
      (explained.size ? " Expand a query to see which document overtook which, and why." : "");
  }

  /** @param {Outcome} outcome @param {Change | undefined} change @param {System} system @param {Set<string>} open */
  function row(outcome, change, system, open) {
    const sign = outcome.difference < 0 ? "▼" : outcome.difference > 0 ? "▲" : "=";
    const link = linkOf(outcome.text, system, baseline);
    const name = outcome.text === outcome.id ? outcome.text : [outcome.text, " ", element("span", { className: "id quiet" }, outcome.id)].flat();
    const why = element("tr", { className: "why-row", hidden: true }, element("td", { colSpan: 4 }));
    const key = `${system.name} ${outcome.id}`;
    const button = element("button", { type: "button", className: "open" }, ...[name].flat());
    const toggle = (/** @type {boolean} */ opened) => {
      button.ariaExpanded = String(opened);
      why.hidden = !opened;
      if (opened) open.add(key);
      else open.delete(key);
      if (opened && change && why.firstChild?.childNodes.length === 0)
        why.children[0].append(...because(change, outcome, system, baseline, link));
    };
    button.addEventListener("click", () => toggle(why.hidden));
    if (change) toggle(open.has(key));
    const small = element(
      "span",
      { className: "values quiet" },
      `${decimal(outcome.before)} → ${decimal(outcome.after)}`,
    );
    const main = element(
      "tr",
      { className: `outcome ${kindOf(outcome)}` },
      element("th", { scope: "row" }, change ? button : element("span", { className: "closed" }, ...[name].flat()), small),
      element("td", { className: "number of-system" }, decimal(outcome.before)),
      element("td", { className: "number of-system" }, decimal(outcome.after)),
      element(
        "td",
        { className: "number gained" },
        element("span", { ariaHidden: "true" }, `${sign} `),
        outcome.difference === 0 ? unseen("unchanged") : signed(outcome.difference),
      ),
    );
    return change ? [main, why] : [main];
  }

  show();
  return element(
    "section",
    { className: "evaluated outcomes", "aria-labelledby": "outcomes-title" },
    element("h2", { id: "outcomes-title" }, "Queries"),
    hint,
    element(
      "div",
      { className: "tools" },
      others.length > 1 ? element("label", { className: "field" }, `Compared with ${baseline.label}`, select) : null,
      element("label", { className: "field" }, "Search queries", search),
      element("div", { className: "switch", role: "group", ariaLabel: "Queries to show" }, ...choices.map(({ button }) => button)),
    ),
    count,
    element(
      "table",
      {},
      element("caption", { className: "unseen" }, `${evaluation.main} of each query`),
      element(
        "thead",
        {},
        element("tr", {}, element("th", { scope: "col" }, "query"), before, after, element("th", { scope: "col", className: "number" }, "change")),
      ),
      body,
    ),
    element("p", { className: "more-rows" }, more),
  );
}

/**
 * Largest loss first; equal ones in the order of the queries.
 *
 * @param {Evaluation} evaluation
 * @param {System} system
 * @param {System} baseline
 * @returns {Outcome[]}
 */
function outcomesOf({ judged, main }, system, baseline) {
  const found = judged.map(({ id, text }, n) => {
    const [before, after] = [baseline.values[main][n], system.values[main][n]];
    return { id, text, before, after, difference: after - before };
  });
  return found.sort((a, b) => a.difference - b.difference);
}

/** @param {Outcome} outcome */
const kindOf = ({ difference }) => (difference < 0 ? "lost" : difference > 0 ? "won" : "unchanged");

/** The queries of a kind; wins are shown best first. @param {Outcome[]} all @param {Shown} shown */
function ofKind(all, shown) {
  const found = all.filter((outcome) => shown === "all" || kindOf(outcome) === shown);
  return shown === "won" ? found.reverse() : found;
}
