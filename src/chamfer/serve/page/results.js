/** Two rankings of the same documents, side by side. */

import { card } from "./card.js";
import { byId, counted } from "./element.js";
import { reorder } from "./motion.js";
import { NOTHING, ranked } from "./scores.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {ReturnType<typeof card>} Card */
/** @typedef {{list: HTMLElement, documents: import("./types.js").ExplainedDocument[], cards: Map<string, Card>,
 *   weights: (state: State) => number[], mix: (state: State) => import("./types.js").Mix}} Column */

const SHOWN = 10;

/** @type {Column[]} */
let columns = [];
let all = false;

/** @param {State} state */
export function showResults(state) {
  all = false;
  columns = ["uniform", "weighted"].map((name) => column(state, name === "weighted"));
  const count = state.answer.documents.length;
  const more = byId("more");
  more.hidden = count <= SHOWN;
  more.textContent = `Show all ${count}`;
  more.onclick = () => {
    all = !all;
    more.textContent = all ? `Show top ${SHOWN}` : `Show all ${count}`;
    place(state);
  };
  byId("pool").textContent =
    `${counted(count, "candidate")}: the top documents of either ranking, re-ranked as you adjust weights.`;
  byId("columns").hidden = count === 0;
  place(state);
  updateResults(state);
  updateJudged();
}

/** @param {State} state @param {boolean} weighted @returns {Column} */
function column(state, weighted) {
  const onExpand = (/** @type {string} */ id) => () => {
    if (!state.expanded.delete(id)) state.expanded.add(id);
    updateResults(state);
  };
  const documents = weighted ? state.answer.documents : state.answer.documents.map(unmoved);
  const cards = new Map(
    documents.map((document) => [
      document.id,
      card(document, state, { weighted, onExpand: onExpand(document.id) }),
    ]),
  );
  const list = byId(weighted ? "weighted" : "uniform");
  list.replaceChildren();
  const ones = state.answer.tokens.map(() => 1);
  return weighted
    ? { list, documents, cards, weights: (now) => now.weights, mix: (now) => now.mix }
    : { list, documents, cards, weights: () => ones, mix: () => NOTHING };
}

/**
 * A document as uniform weights see it: an adapter belongs to the weights, so it does not move the query for them.
 *
 * @param {import("./types.js").ExplainedDocument} document
 */
const unmoved = (document) => ({ ...document, matches: document.uniform_matches ?? document.matches });

/**
 * Rank both columns with the present weights.
 *
 * @param {State} state
 */
export function place(state) {
  const shown = all ? Infinity : SHOWN;
  const orders = columns.map((own) => ranked(own.documents, own.weights(state), own.mix(state)));
  const ranks = orders.map((order) => new Map(order.map(({ document }, n) => [document.id, n + 1])));
  columns.forEach(({ list, cards }, c) => {
    const order = orders[c].map(({ document }) => /** @type {Card} */ (cards.get(document.id)));
    const put = () =>
      order.forEach((own, n) => {
        const other = ranks[1 - c].get(own.document.id) ?? null;
        own.node.hidden = n >= shown;
        own.put({
          rank: n + 1,
          score: orders[c][n].score,
          was: other !== null && other <= shown ? other : null,
          next: n + 1 < order.length ? order[n + 1].document : null,
        });
      });
    reorder(list, order.map(({ node }) => node), put);
  });
}

/**
 * Highlight what the active token matched or, without one, softly all matches.
 *
 * @param {State} state
 */
export function updateResults(state) {
  for (const { cards, weights } of columns) for (const own of cards.values()) own.light(weights(state));
}

export function updateJudged() {
  for (const { cards } of columns) for (const own of cards.values()) own.judged();
}

/** Switch between the columns on a narrow screen, and highlight a hovered document in both. */
export function startResults() {
  const shown = byId("columns");
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[data-column]"));
  for (const button of buttons)
    button.addEventListener("click", () => {
      shown.dataset.shown = button.dataset.column;
      for (const other of buttons) other.ariaPressed = String(other === button);
    });
  for (const [name, twin] of /** @type {const} */ ([["pointerover", true], ["pointerout", false]]))
    shown.addEventListener(name, (/** @type {PointerEvent} */ event) => {
      const own = /** @type {HTMLElement} */ (event.target).closest(".card");
      const id = own instanceof HTMLElement ? own.dataset.id : undefined;
      for (const { cards } of columns) if (id !== undefined) cards.get(id)?.node.classList.toggle("twin", twin);
    });
}
