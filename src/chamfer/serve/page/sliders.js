/** A slider per query token; the weighted ranking follows as it moves. */

import { byId, counted, decimal, element, measure } from "./element.js";
import { isMixChanged } from "./mix.js";
import { sum } from "./scores.js";
import { spelled } from "./words.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {{range: HTMLInputElement, number: HTMLInputElement, row: HTMLElement, tokens: number[]}} Slider */

/** Largest weight that the server accepts. */
const MOST = 1e9;

/** @type {Slider[]} */
let sliders = [];

/**
 * @param {State} state
 * @param {() => void} onMove called after `state.weights` changes
 */
export function showSliders(state, onMove) {
  const { tokens } = state.answer;
  const served = tokens.map((token) => token.weight);
  // All sliders share one scale, so that they can be compared: up to four times the mean weight.
  const end = Math.max((4 * sum(served)) / Math.max(1, served.length), 1.25 * Math.max(0, ...served)) || 4;
  sliders = distinct(state).map((places) => slider(state, places, end, onMove));
  byId("slider-list").replaceChildren(...sliders.map(({ row }) => row));
  updateSliders(state);
}

/**
 * Positions of each distinct token. Weights belong to tokens, so a token that a query repeats has one slider. Special
 * tokens, which matter to few users, come last.
 *
 * @param {State} state
 * @returns {number[][]}
 */
function distinct({ answer: { tokens } }) {
  /** @type {Map<string, number[]>} */
  const places = new Map();
  tokens.forEach(({ token }, i) => places.set(token, [...(places.get(token) ?? []), i]));
  return [...places.values()].sort((a, b) => Number(tokens[a[0]].special) - Number(tokens[b[0]].special));
}

/** @param {State} state @param {number[]} places @param {number} end @param {() => void} onMove @returns {Slider} */
function slider(state, places, end, onMove) {
  const token = state.answer.tokens[places[0]];
  const name = spelled(state.answer.tokens, state.words, places[0]);
  const set = (/** @type {number} */ value) => {
    for (const i of places) {
      // Weights may depend on context, so one token may weigh differently at two positions: keep their ratio.
      const factor = token.weight > 0 ? state.answer.tokens[i].weight / token.weight : 1;
      state.weights[i] = value === token.weight ? state.answer.tokens[i].weight : value * factor;
    }
    onMove();
  };
  const range = /** @type {HTMLInputElement} */ (
    element("input", { type: "range", min: "0", max: String(end), step: "any", ariaLabel: `weight of ${name}` })
  );
  range.addEventListener("input", () => set(Number(Number(range.value).toFixed(3))));
  // The step "any" lets a slider rest exactly on the server's weight, but gives the arrow keys no step.
  range.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    set(Number(Math.min(end, Math.max(0, state.weights[places[0]] + (step * end) / 50)).toFixed(3)));
  });
  const number = /** @type {HTMLInputElement} */ (
    element("input", {
      type: "number",
      min: "0",
      max: String(MOST),
      step: "any",
      inputMode: "decimal",
      ariaLabel: `weight of ${name}, as a number`,
    })
  );
  number.addEventListener("change", () => {
    const typed = number.valueAsNumber;
    set(Number.isFinite(typed) ? Math.min(MOST, Math.max(0, typed)) : token.weight);
  });
  const [piece, rest] = name.split(" in ");
  const label = element(
    "span",
    { className: "slider-name", ariaHidden: "true" },
    element("span", {}, piece),
    rest ? element("small", {}, rest) : null,
    places.length > 1 ? element("small", {}, `×${places.length}`) : null,
  );
  const row = element("div", { className: token.special ? "slider special" : "slider" }, label, range, number);
  measure(row, { served: Math.min(1, token.weight / end) });
  return { range, number, row, tokens: places };
}

/** @param {State} state */
export function updateSliders(state) {
  for (const { range, number, row, tokens } of sliders) {
    const weight = state.weights[tokens[0]];
    range.value = String(weight);
    range.setAttribute("aria-valuetext", decimal(weight, 2));
    number.value = weight.toFixed(2);
    measure(row, { fill: Math.min(1, weight / Number(range.max)) });
    row.classList.toggle("moved", weight !== state.answer.tokens[tokens[0]].weight);
  }
  const count = Object.keys(changedWeights(state)).length;
  const changes = [count ? `${counted(count, "token")} changed` : "", isMixChanged(state) ? "mix changed" : ""];
  byId("changed-count").textContent = changes.filter(Boolean).join(", ");
  byId("reset").disabled = byId("save").disabled = !changes.some(Boolean);
}

/**
 * The weights that the user changed, by token as the tokenizer spells it.
 *
 * @param {Pick<State, "answer" | "weights">} state
 * @returns {Record<string, {before: number, after: number}>}
 */
export function changedWeights({ answer, weights }) {
  const all = answer.tokens.map(({ token, weight }, i) => ({ token, before: weight, after: weights[i] }));
  const changed = all.filter(({ before, after }) => before !== after);
  // A slider shows the first position of its token, and the last entry of a name wins here.
  return Object.fromEntries(changed.reverse().map(({ token, before, after }) => [token, { before, after }]));
}
