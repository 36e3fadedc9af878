/** Two rankings of the same documents, side by side, with lines from where results were to where they are. */

import { card } from "./card.js";
import { byId } from "./element.js";
import { drawLines, pointAtLine } from "./lines.js";
import { reorder } from "./motion.js";
import { NOTHING, ranked } from "./scores.js";
import { movesOf, story, summary } from "./story.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {ReturnType<typeof card>} Card */
/** @typedef {{list: HTMLElement, documents: import("./types.js").ExplainedDocument[], cards: Map<string, Card>,
 *   weights: (state: State) => number[], mix: (state: State) => import("./types.js").Mix}} Column */

/** Milliseconds without a move after which moves are announced: a screen reader should not talk while a weight moves. */
const REST = 600;

/** @type {Column[]} */
let columns = [];
let announcing = 0;
/** Draws the lines again, after something changed the heights of cards. */
let redrawLines = () => {};

/** @param {State} state */
export function showResults(state) {
  columns = ["uniform", "weighted"].map((name) => column(state, name === "weighted"));
  byId("columns").hidden = state.answer.documents.length === 0;
  place(state);
  updateResults(state);
  updateJudged();
}

/** @param {State} state @param {boolean} weighted @returns {Column} */
function column(state, weighted) {
  const onExpand = (/** @type {string} */ id) => () => {
    if (!state.expanded.delete(id)) state.expanded.add(id);
    updateResults(state);
    redrawLines();
  };
  const documents = weighted ? state.answer.documents : state.answer.documents.map(unmoved);
  const cards = new Map(
    documents.map((document) => [document.id, card(document, state, { weighted, onExpand: onExpand(document.id) })]),
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
 * Rank both columns with the present weights, and say what that changed.
 *
 * @param {State} state
 */
export function place(state) {
  const { shown } = state;
  const orders = columns.map((own) => ranked(own.documents, own.weights(state), own.mix(state)));
  const ranks = orders.map((order) => new Map(order.map(({ document }, n) => [document.id, n + 1])));
  columns.forEach(({ list, cards }, c) => {
    const order = orders[c].map(({ document }) => /** @type {Card} */ (cards.get(document.id)));
    const put = () =>
      order.forEach((own, n) => {
        const other = ranks[1 - c].get(own.document.id) ?? null;
        own.node.hidden = n >= shown;
        own.node.tabIndex = n ? -1 : 0;
        own.put({
          rank: n + 1,
          score: orders[c][n].score,
          kept: orders[c][n].kept,
          was: other !== null && other <= shown ? other : null,
          next: n + 1 < order.length ? order[n + 1].document : null,
        });
      });
    reorder(list, order.map(({ node }) => node), put);
  });
  const [uniform, weighted] = orders.map((order) => order.map(({ document }) => document));
  tellMoves(state, { uniform, weighted, served: state.servedOrder });
  redrawLines = () => connect(movesOf(uniform, weighted, shown), shown);
  redrawLines();
}

/** @param {State} state @param {import("./story.js").Rankings} rankings */
function tellMoves(state, rankings) {
  const found = rankings.weighted.length > 0;
  byId("changes-line").hidden = !found;
  clearTimeout(announcing);
  if (!found) return;
  byId("story").replaceChildren(...story(state, rankings));
  const { short, full } = summary(rankings, state.shown);
  byId("moves-short").textContent = `vs. uniform: ${short}`;
  announcing = setTimeout(() => (byId("moves").textContent = full), REST);
}

/** @param {ReturnType<typeof movesOf>} moves @param {number} shown */
function connect({ moved, entered, left }, shown) {
  const [uniform, weighted] = columns.map(({ cards }) => cards);
  drawLines(
    [...moved, ...entered, ...left].map(({ document: { id }, was, now }) => ({
      id,
      from: was <= shown ? /** @type {Card} */ (uniform.get(id)).node : null,
      to: now <= shown ? /** @type {Card} */ (weighted.get(id)).node : null,
      rises: now < was,
    })),
  );
}

/**
 * Highlight what the active word matched or, without one, softly all matches.
 *
 * @param {State} state
 */
export function updateResults(state) {
  for (const { cards, weights } of columns)
    for (const own of cards.values()) if (!own.node.hidden) own.light(weights(state));
}

export function updateJudged() {
  for (const { cards } of columns) for (const own of cards.values()) own.judged();
}

/**
 * Keys of the results: up and down between results, left and right between the columns, marks, and the reason.
 *
 * @param {KeyboardEvent} event
 */
function press(event) {
  const node = event.target;
  if (!(node instanceof HTMLElement) || !node.matches(".card") || event.ctrlKey || event.metaKey || event.altKey) return;
  const id = node.dataset.id ?? "";
  const at = columns.findIndex(({ list }) => list.contains(node));
  const own = /** @type {Card} */ (columns[at].cards.get(id));
  const twin = columns[1 - at].cards.get(id)?.node;
  if (event.key === "ArrowDown" || event.key === "j") focus(node.nextElementSibling);
  else if (event.key === "ArrowUp" || event.key === "k") focus(node.previousElementSibling);
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft") focus(twin);
  else if (event.key === "r") own.judge(true);
  else if (event.key === "n") own.judge(false);
  else if (event.key === "Enter") own.ask();
  else return;
  event.preventDefault();
}

/** @param {Element | null | undefined} node */
function focus(node) {
  if (!(node instanceof HTMLElement) || node.hidden || node.offsetParent === null) return;
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "nearest" });
}

/** Go to the first result of the weighted ranking, or of the one that a narrow screen shows. */
export function focusFirst() {
  for (const { list } of [...columns].reverse()) if (!document.activeElement?.matches(".card")) focus(list.firstElementChild);
}

/** Switch between the columns on a narrow screen, highlight a hovered result in both, and listen for keys. */
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
      if (id === undefined) return;
      for (const { cards } of columns) cards.get(id)?.node.classList.toggle("twin", twin);
      pointAtLine(id, twin);
    });
  shown.addEventListener("keydown", press);
  new ResizeObserver(() => redrawLines()).observe(shown);
}
