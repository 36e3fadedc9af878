/** The words of the query. Each is a slider: drag it, or use the arrow keys, to change its weight. */

import { byId, decimal, element, measure } from "./element.js";
import { inspect } from "./inspector.js";
import { END, isChanged, served, setWeight, weightOf } from "./weighing.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Word} Word */
/** @typedef {{word: Word, node: HTMLElement, value: HTMLElement, pieces: HTMLElement[]}} Control */

/** Pixels of a drag that change a weight by 1; with Shift, four times as many. */
const PIXELS = 72;
/** Pixels that the pointer may move in a click. */
const STEADY = 4;

/** @type {Control[]} */
let controls = [];
/** The word that was clicked, whose controls are shown. @type {number | null} */
let chosen = null;
/** The word under the pointer or the focus. @type {number | null} */
let pointed = null;
/** One piece of the chosen word, if only that is to change. @type {number | null} */
let piece = null;
/** @type {() => void} */
let onActiveWord = () => {};
/** @type {() => void} */
let onWeight = () => {};

/**
 * @param {State} state
 * @param {{onActive: () => void, onMove: () => void}} listeners called after `state.active` or `state.weights` changes
 */
export function showQuery(state, { onActive, onMove }) {
  [chosen, pointed, piece] = [null, null, null];
  [onActiveWord, onWeight] = [onActive, onMove];
  controls = state.words.map((word, at) => control(state, word, at));
  byId("words").replaceChildren(...controls.map(({ node }) => node));
  fit();
  if (controls.length) controls[0].node.tabIndex = 0; // one tab stop; arrow keys move within it
  updateQuery(state);
}

/** Make words smaller that do not fit one row, so that results stay in view; and special tokens that would need one of their own. */
function fit() {
  const words = byId("words");
  const top = (/** @type {number} */ at) => controls.at(at)?.node.offsetTop;
  for (const look of ["", "short", "dense", "dense short"]) {
    words.className = `words ${look}`;
    if (top(0) === top(-1) || (look.startsWith("dense") && top(-2) === top(-1))) return;
  }
}

/** Fit the words again when the page is wider or narrower. */
export function startQuery() {
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === width) return;
    width = contentRect.width;
    fit();
  }).observe(byId("words"));
}

/** @param {State} state @param {Word} word @param {number} at @returns {Control} */
function control(state, word, at) {
  const texts = word.special ? [word.text] : word.pieces.map((i) => state.answer.tokens[i].text);
  const pieces = texts.map((text) => element("span", { className: "piece" }, text));
  const value = element("span", { className: "value" });
  const node = element(
    "div",
    {
      className: word.special ? "word special" : "word",
      role: "slider",
      tabIndex: -1,
      ariaOrientation: "vertical",
      ariaValueMin: "0",
      ariaValueMax: String(END),
      ariaLabel: `weight of ${word.text}`,
      "aria-describedby": "word-help",
      onpointerenter: (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && point(state, at),
      onpointerleave: (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && point(state, null),
      onfocus: () => point(state, at),
      onblur: () => point(state, null),
      onpointerdown: (/** @type {PointerEvent} */ event) => drag(event, state, at),
      onkeydown: (/** @type {KeyboardEvent} */ event) => press(event, state, at),
    },
    element("span", { className: "pieces" }, ...pieces),
    value,
  );
  return { word, node, value, pieces };
}

/**
 * Change a weight while the pointer moves sideways. A press that does not move chooses the word.
 *
 * @param {PointerEvent} down
 * @param {State} state
 * @param {number} at
 */
function drag(down, state, at) {
  if (down.button) return;
  const { node, word } = controls[at];
  const from = weightOf(state.weights, word.pieces);
  let moved = false;
  /** Where the pointer was last. */
  let last = down;
  /** @type {number | null} */
  let frame = null;
  node.setPointerCapture(down.pointerId);
  const follow = () => {
    frame = null;
    const across = (last.clientX - down.clientX) / (last.shiftKey ? 4 * PIXELS : PIXELS);
    change(state, word.pieces, Number((from + across).toFixed(2)));
  };
  const move = (/** @type {PointerEvent} */ event) => {
    last = event;
    if (!moved && Math.abs(event.clientX - down.clientX) < STEADY) return;
    moved = true;
    node.classList.add("dragged");
    // Once a frame is enough: a pointer may report a thousand positions in a second.
    frame ??= requestAnimationFrame(follow);
  };
  const end = (/** @type {PointerEvent} */ event) => {
    for (const [name, listener] of listeners) node.removeEventListener(name, /** @type {EventListener} */ (listener));
    node.classList.remove("dragged");
    if (frame !== null) {
      cancelAnimationFrame(frame);
      follow();
    }
    if (!moved && event.type === "pointerup") choose(state, chosen === at ? null : at);
  };
  const listeners = /** @type {const} */ ([["pointermove", move], ["pointerup", end], ["pointercancel", end]]);
  for (const [name, listener] of listeners) node.addEventListener(name, /** @type {EventListener} */ (listener));
}

/** @param {KeyboardEvent} event @param {State} state @param {number} at */
function press(event, state, at) {
  const last = controls.length - 1;
  const to = { ArrowRight: Math.min(last, at + 1), ArrowLeft: Math.max(0, at - 1), Home: 0, End: last }[event.key];
  const step = { ArrowUp: 0.1, ArrowDown: -0.1, PageUp: 0.5, PageDown: -0.5 }[event.key];
  if (event.key === "Enter" || event.key === " ") choose(state, chosen === at ? null : at);
  else if (event.key === "Escape") choose(state, null);
  else if (to !== undefined) {
    controls[at].node.tabIndex = -1;
    controls[to].node.tabIndex = 0;
    controls[to].node.focus();
  } else if (step !== undefined) {
    const { pieces } = controls[at].word;
    change(state, pieces, Number((weightOf(state.weights, pieces) + step).toFixed(2)));
  } else return;
  event.preventDefault();
}

/** @param {State} state @param {number[]} pieces @param {number} weight */
function change(state, pieces, weight) {
  setWeight(state, pieces, weight);
  onWeight();
}

/** @param {State} state @param {number | null} at */
function point(state, at) {
  pointed = at;
  activate(state);
}

/** @param {State} state @param {number | null} at */
function choose(state, at) {
  [chosen, piece] = [at, null];
  activate(state);
}

/** @param {State} state */
function activate(state) {
  const at = pointed ?? chosen;
  state.active = at === null ? [] : at === chosen && piece !== null ? [piece] : controls[at].word.pieces;
  onActiveWord();
}

/**
 * Show the weights, and the line about the active word.
 *
 * @param {State} state
 */
export function updateQuery(state) {
  const active = pointed ?? chosen;
  controls.forEach(({ word, node, value, pieces }, at) => {
    const weight = weightOf(state.weights, word.pieces);
    value.textContent = decimal(weight, 2);
    node.classList.toggle("active", active === at);
    node.classList.toggle("chosen", chosen === at);
    node.classList.toggle("changed", isChanged(state, word.pieces));
    node.ariaValueNow = String(Math.min(END, Number(weight.toFixed(2))));
    const was = isChanged(state, word.pieces) ? `, was ${decimal(weightOf(served(state), word.pieces), 2)}` : "";
    node.ariaValueText = decimal(weight, 2) + was;
    pieces.forEach((own, n) => {
      const drawn = word.special ? weight : state.weights[word.pieces[n]];
      // An absolute scale: another word's weight does not change this line.
      measure(own, { weight: Math.min(END, drawn) });
    });
  });
  const shown = active === null ? null : controls[active].word;
  inspect(state, shown, {
    chosen: active !== null && active === chosen,
    piece: active === chosen ? piece : null,
    onPiece: (i) => {
      piece = piece === i ? null : i;
      activate(state);
    },
    onMove: onWeight,
  });
}
