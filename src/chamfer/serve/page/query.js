/** The query's tokens, as buttons that highlight what they match. */

import { byId, decimal, element, measure } from "./element.js";
import { spelled } from "./words.js";

/** @typedef {import("./types.js").State} State */

/** @type {HTMLButtonElement[]} */
let buttons = [];
/** @type {number | null} */
let pinned = null;
/** @type {number | null} */
let pointed = null;
/** @type {(active: number | null) => void} */
let onActiveToken = () => {};

/**
 * @param {State} state
 * @param {(active: number | null) => void} onActive called with the token that is hovered, focused or pinned
 */
export function showQuery(state, onActive) {
  [pinned, pointed, onActiveToken] = [null, null, onActive];
  const { tokens } = state.answer;
  buttons = tokens.map((token, i) => button(token, i));
  const words = state.words.map((word) =>
    element(
      "span",
      { className: word.special ? "word special" : "word" },
      ...word.pieces.map((i) => buttons[i]),
    ),
  );
  byId("tokens").replaceChildren(...words);
  // A toolbar is one tab stop; arrow keys move within it.
  const first = Math.max(0, tokens.findIndex((token) => !token.special));
  if (buttons.length) buttons[first].tabIndex = 0;
  updateQuery(state);
}

/**
 * @param {import("./types.js").QueryToken} token
 * @param {number} i
 */
function button(token, i) {
  const made = element(
    "button",
    {
      type: "button",
      className: "token",
      tabIndex: -1,
      onpointerenter: (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && point(i),
      onpointerleave: (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && point(null),
      onfocus: () => point(i),
      onblur: () => point(null),
      onclick: () => pin(pinned === i ? null : i),
      onkeydown: (/** @type {KeyboardEvent} */ event) => move(event, i),
    },
    element("span", { className: "piece" }, token.text),
    element("span", { className: "bar", ariaHidden: "true" }),
  );
  return /** @type {HTMLButtonElement} */ (made);
}

/** @param {number | null} i */
function point(i) {
  pointed = i;
  onActiveToken(pointed ?? pinned);
}

/** @param {number | null} i */
function pin(i) {
  pinned = i;
  onActiveToken(pinned ?? pointed);
}

/** @param {KeyboardEvent} event @param {number} i */
function move(event, i) {
  const last = buttons.length - 1;
  const to = { ArrowRight: Math.min(last, i + 1), ArrowLeft: Math.max(0, i - 1), Home: 0, End: last }[event.key];
  if (event.key === "Escape") pin(null);
  if (to === undefined) return;
  event.preventDefault();
  buttons[i].tabIndex = -1;
  buttons[to].tabIndex = 0;
  buttons[to].focus();
}

/**
 * Show the weights, the active token, and a line about it.
 *
 * @param {State} state
 */
export function updateQuery(state) {
  const { answer, words, weights, active } = state;
  const heaviest = Math.max(1e-9, ...weights);
  buttons.forEach((made, i) => {
    measure(made, { weight: weights[i] / heaviest });
    made.classList.toggle("active", active === i);
    made.ariaPressed = String(pinned === i);
    const moved = weights[i] === answer.tokens[i].weight ? "" : `, was ${decimal(answer.tokens[i].weight, 2)}`;
    made.ariaLabel = `${spelled(answer.tokens, words, i)}, weight ${decimal(weights[i], 2)}${moved}`;
  });
  byId("token-line").replaceChildren(...line(state));
}

/** @param {State} state */
function line({ answer, words, weights, active }) {
  if (active === null)
    return ["A thicker line is a higher weight. Select a token to highlight what it matches, closer matches more strongly."];
  const distances = answer.documents.map((document) => document.matches[active].distance);
  const [least, most] = [Math.min(...distances), Math.max(...distances)].map((distance) => decimal(distance, 2));
  const range = distances.length ? ` · distances ${least} to ${most}` : "";
  const kind = answer.tokens[active].special ? " · special token" : "";
  return [
    element("strong", {}, spelled(answer.tokens, words, active)),
    ` · weight ${decimal(weights[active], 2)}${range}${kind}${pinned === active ? " · pinned" : ""}`,
  ];
}
