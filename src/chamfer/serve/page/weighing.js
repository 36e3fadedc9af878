/** The weights of the query as the user changes them. The server's weights stay in `state.answer.tokens`. */

import { sum } from "./scores.js";

/** @typedef {import("./types.js").State} State */

/** Largest weight that the server accepts. */
export const LARGEST = 1e9;

/** Right end of sliders, and the heaviest weight that an underline shows: few weights are larger. */
export const END = 4;

/**
 * The weight of a word: the mean of its pieces.
 *
 * @param {number[]} weights
 * @param {number[]} pieces
 */
export const weightOf = (weights, pieces) => sum(pieces.map((i) => weights[i])) / pieces.length;

/** The server's weights. @param {Pick<State, "answer">} state */
export const served = ({ answer }) => answer.tokens.map(({ weight }) => weight);

/**
 * Give a word, or one piece of it, another weight. The pieces of a word keep their proportions; so do the places of a
 * token that the query repeats, since weights belong to tokens.
 *
 * @param {State} state its `weights` change
 * @param {number[]} pieces
 * @param {number} weight
 */
export function setWeight(state, pieces, weight) {
  const value = Math.min(LARGEST, Math.max(0, weight));
  const base = weightOf(state.weights, pieces) > 0 ? state.weights : served(state);
  const mean = weightOf(base, pieces);
  state.weights = state.weights.map((own, i) => {
    if (!isOneOf(state, pieces, i)) return own;
    return mean > 0 ? base[i] * (value / mean) : value;
  });
}

/** Give a word the server's weight again. @param {State} state its `weights` change @param {number[]} pieces */
export function resetWeight(state, pieces) {
  const original = served(state);
  state.weights = state.weights.map((own, i) => (isOneOf(state, pieces, i) ? original[i] : own));
}

/** Whether weights differ by more than what 32 bits of the server and 6 digits of an address lose. @param {number} one @param {number} other */
const differ = (one, other) => Math.abs(one - other) > 1e-5 * Math.max(one, other);

/** @param {State} state @param {number[]} pieces */
export const isChanged = (state, pieces) => pieces.some((i) => differ(state.weights[i], state.answer.tokens[i].weight));

/** Whether a place has a token of these pieces. @param {State} state @param {number[]} pieces @param {number} i */
const isOneOf = ({ answer: { tokens } }, pieces, i) => pieces.some((piece) => tokens[piece].token === tokens[i].token);

/**
 * The weights that the user changed, by token as the tokenizer spells it.
 *
 * @param {Pick<State, "answer" | "weights">} state
 * @returns {Record<string, {before: number, after: number}>}
 */
export function changedWeights({ answer, weights }) {
  const all = answer.tokens.map(({ token, weight }, i) => ({ token, before: weight, after: weights[i] }));
  const changed = all.filter(({ before, after }) => differ(before, after));
  // Of a token that the query repeats, the first place counts, and the last entry of a name wins here.
  return Object.fromEntries(changed.reverse().map(({ token, before, after }) => [token, { before, after }]));
}

/**
 * Change weights as an address has them.
 *
 * @param {State} state its `weights` change
 * @param {Record<string, number>} changed by token
 */
export function applyChanged(state, changed) {
  state.answer.tokens.forEach(({ token }, i) => {
    const first = state.answer.tokens.findIndex((other) => other.token === token);
    if (Object.hasOwn(changed, token) && first === i) setWeight(state, [i], changed[token]);
  });
}
