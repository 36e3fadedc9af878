/** One line about a word of the query: what it matches and, once it was clicked, controls of its weight. */

import { byId, counted, decimal, element, measure } from "./element.js";
import { closeness } from "./scores.js";
import { END, LARGEST, isChanged, resetWeight, served, setWeight, weightOf } from "./weighing.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Word} Word */
/**
 * `piece` is the piece of the word that is to change alone, if any.
 *
 * @typedef {{chosen: boolean, piece: number | null, onPiece: (piece: number) => void, onMove: () => void}} Options
 */

/** Cosine from which a match is called close. */
const CLOSE = 0.5;

/** What the controls were made for, so that they outlive a drag of their own slider. @type {string} */
let made = "";

/**
 * @param {State} state
 * @param {Word | null} word
 * @param {Options} options
 */
export function inspect(state, word, options) {
  const line = byId("inspector");
  const key = word && options.chosen ? `${state.answer.query} ${word.pieces} ${options.piece}` : "";
  if (!key || key !== made) line.replaceChildren(...(word === null ? [hint()] : about(state, word, options)));
  made = key;
  if (word && options.chosen) update(state, options.piece === null ? word.pieces : [options.piece]);
}

const hint = () =>
  element("span", { className: "quiet" }, `Drag a word sideways to change its weight, or ${matchMedia("(pointer: coarse)").matches ? "tap" : "click"} it. `, scale());

/** How thick the lines of some weights are. */
function scale() {
  const sample = (/** @type {number} */ weight) => {
    const line = element("span", { className: "sample", ariaHidden: "true" });
    measure(line, { weight });
    return element("span", { className: "scale-step" }, line, String(weight));
  };
  return element("span", { className: "scale" }, "Thickness of the lines: ", ...[0, 0.5, 1, 2, 4].map(sample));
}

/** @param {State} state @param {Word} word @param {Options} options @returns {HTMLElement[]} */
function about(state, word, options) {
  const name = element("strong", {}, word.text);
  if (!options.chosen) return [element("span", {}, name, ` · ${matched(state, word)}`)];
  const pieces = options.piece === null ? word.pieces : [options.piece];
  return [
    element("span", { className: "inspected" }, name, ...(word.special ? [] : pieceButtons(state, word, options))),
    ...controls(state, word, pieces, options),
    element("span", { className: "quiet" }, matched(state, word)),
  ];
}

/** @param {State} state @param {Word} word */
function matched({ answer: { documents, form } }, word) {
  const close = documents.filter(({ matches }) => word.pieces.some((i) => closeness(matches[i].distance, form) >= CLOSE)).length;
  if (word.special) return "markers that the model adds, such as [CLS]";
  return close ? `close match in ${close} of ${counted(documents.length, "result")}` : "no close match";
}

/** @param {State} state @param {Word} word @param {Options} options */
function pieceButtons(state, word, { piece, onPiece }) {
  if (word.pieces.length < 2) return [];
  return word.pieces.map((i) =>
    element(
      "button",
      { type: "button", className: "piece-button", ariaPressed: String(piece === i), onclick: () => onPiece(i) },
      state.answer.tokens[i].text,
    ),
  );
}

/** @param {State} state @param {Word} word @param {number[]} pieces @param {Options} options */
function controls(state, word, pieces, { onMove }) {
  const name = pieces.length < word.pieces.length ? `${state.answer.tokens[pieces[0]].text} in ${word.text}` : word.text;
  const set = (/** @type {number} */ weight) => {
    setWeight(state, pieces, weight);
    onMove();
  };
  const range = /** @type {HTMLInputElement} */ (
    element("input", { type: "range", id: "weight", min: "0", max: String(END), step: "0.01", ariaLabel: `weight of ${name}, as a slider` })
  );
  range.addEventListener("input", () => set(Number(range.value)));
  const number = /** @type {HTMLInputElement} */ (
    element("input", {
      type: "number",
      id: "weight-number",
      min: "0",
      max: String(LARGEST),
      step: "any",
      inputMode: "decimal",
      ariaLabel: `weight of ${name}, as a number`,
    })
  );
  number.addEventListener("change", () => {
    const typed = number.valueAsNumber;
    if (Number.isFinite(typed)) set(typed);
    else reset();
  });
  const reset = () => {
    resetWeight(state, pieces);
    onMove();
  };
  const now = () => weightOf(state.weights, pieces);
  const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ onclick) =>
    element("button", { type: "button", ariaLabel: label, title: label, onclick }, text);
  return [
    range,
    number,
    element(
      "span",
      { className: "steps" },
      button("0", `ignore ${name}`, () => set(0)),
      button("½×", `half the weight of ${name}`, () => set(now() / 2)),
      button("2×", `twice the weight of ${name}`, () => set(2 * now())),
      element("button", { type: "button", id: "weight-reset", ariaLabel: `reset the weight of ${name}`, onclick: reset }, "Reset"),
    ),
  ];
}

/** @param {State} state @param {number[]} pieces */
function update(state, pieces) {
  const weight = weightOf(state.weights, pieces);
  const range = byId("weight");
  range.value = String(weight);
  range.setAttribute("aria-valuetext", decimal(weight, 2));
  byId("weight-number").value = weight.toFixed(2);
  byId("weight-reset").disabled = !isChanged(state, pieces);
  const was = weightOf(served(state), pieces);
  measure(range, { fill: Math.min(1, weight / END), served: Math.min(1, was / END) });
}
