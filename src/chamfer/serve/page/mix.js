/**
 * The mix as one bar: how much of a perfect score words, overall meaning and exact terms can bring. Two handles divide
 * it, and the ranking follows.
 */

import { byId, decimal, measure, percent } from "./element.js";
import { CALLED, EVIDENCE, partsOf } from "./scores.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Mix} Mix */
/** @typedef {{words: number, meaning: number, terms: number}} Shares */

/** Largest factor that the server accepts. */
const MOST_FACTOR = 100;
/** Words keep this share, because a score without any has no scale. */
const LEAST_WORDS = 0.05;
const STEP = 0.02;

/** @type {State} */
let state;
/** @type {() => void} */
let onMix = () => {};
/** @type {() => void} */
let onSettled = () => {};

/**
 * @param {State} shown
 * @param {() => void} onMove called after `state.mix` changes
 * @param {() => void} onRest called when a handle comes to rest, so that the documents can be fetched for the new mix
 */
export function showMix(shown, onMove, onRest) {
  [state, onMix, onSettled] = [shown, onMove, onRest];
  byId("mix").hidden = EVIDENCE.every((name) => shown.servedMix[name] === 0) || shown.answer.documents.length === 0;
  updateMix(shown);
}

/** @returns {Shares} */
function shares() {
  const { words, lexical, pooled } = partsOf(state.answer.documents[0], state.mix);
  const all = words + lexical + pooled;
  return { words: words / all, meaning: pooled / all, terms: lexical / all };
}

/** What a BM25 score of the query's own text is; zero if no document has its words. */
const ownLexical = () => state.answer.documents[0].evidence.find(({ name }) => name === "lexical")?.perfect ?? 0;

/**
 * Change the shares of words and of exact terms; overall meaning takes the rest.
 *
 * @param {number} words
 * @param {number} terms
 */
function set(words, terms) {
  const span = partsOf(state.answer.documents[0], state.mix).words;
  const own = ownLexical();
  const kept = Math.max(LEAST_WORDS, Math.min(1, words));
  const exact = own > 0 ? Math.max(0, Math.min(1 - kept, terms)) : 0;
  const factor = (/** @type {number} */ share, /** @type {number} */ perfect) =>
    Math.min(MOST_FACTOR, Number(((share / kept) * (span / perfect)).toPrecision(4)));
  state.mix = { lexical: own > 0 ? factor(exact, own) : state.mix.lexical, pooled: factor(Math.max(0, 1 - kept - exact), 1) };
  onMix();
}

/** @typedef {"words" | "terms"} Handle the left one is between words and meaning, the right one between meaning and terms */

/** @param {Handle} name @param {number} at where the handle is, from 0 to 1 */
function move(name, at) {
  const { words, terms } = shares();
  if (name === "words") set(Math.min(at, 1 - terms), terms);
  else set(words, 1 - Math.max(at, words));
}

/** @param {Handle} name */
const place = (name) => (name === "words" ? shares().words : 1 - shares().terms);

/** Let the handles be dragged, and moved by keys. */
export function startMix() {
  const bar = byId("mix-bar");
  for (const name of /** @type {const} */ (["words", "terms"])) {
    const handle = /** @type {HTMLElement} */ (byId(`mix-${name}`));
    handle.addEventListener("pointerdown", (down) => {
      if (down.button) return;
      handle.setPointerCapture(down.pointerId);
      const drag = (/** @type {PointerEvent} */ event) => {
        const { left, width } = bar.getBoundingClientRect();
        move(name, Math.min(1, Math.max(0, (event.clientX - left) / width)));
      };
      const end = () => {
        handle.removeEventListener("pointermove", drag);
        onSettled();
      };
      handle.addEventListener("pointermove", drag);
      handle.addEventListener("lostpointercapture", end, { once: true });
    });
    handle.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -50, End: 50 };
      const step = steps[/** @type {keyof typeof steps} */ (event.key)];
      if (step === undefined) return;
      event.preventDefault();
      move(name, Math.min(1, Math.max(0, place(name) + step * STEP)));
    });
    handle.addEventListener("keyup", (event) => /^(Arrow|Page|Home|End)/.test(event.key) && onSettled());
  }
}

/** @param {State} shown */
export function updateMix(shown) {
  state = shown;
  if (byId("mix").hidden) return;
  const { words, meaning, terms } = shares();
  measure(byId("mix-bar"), { words, exact: terms });
  const parts = /** @type {const} */ ([["words", words], ["meaning", meaning], ["terms", terms]]);
  for (const [name, share] of parts) byId(`mix-${name}-share`).textContent = percent(share);
  for (const name of /** @type {const} */ (["words", "terms"])) {
    const handle = byId(`mix-${name}`);
    handle.ariaValueNow = String(Math.round(100 * place(name)));
    handle.ariaValueText = `words ${percent(words)}, overall meaning ${percent(meaning)}, exact terms ${percent(terms)}`;
  }
  byId("mix").title = EVIDENCE.map((name) => `${CALLED[name]}: factor ${decimal(shown.mix[name])}`).join(", ");
  byId("mix").classList.toggle("changed", isMixChanged(shown));
}

/** @param {Pick<State, "mix" | "servedMix">} shown */
export const isMixChanged = ({ mix, servedMix }) => EVIDENCE.some((name) => mix[name] !== servedMix[name]);
