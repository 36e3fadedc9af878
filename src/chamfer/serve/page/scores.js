/** Scores from distances and weights. Distances do not depend on weights, so re-ranking needs no request. */

/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */

/**
 * The contribution of one query token to a score.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {number} i position of the token in the query
 */
export const contribution = (document, weights, i) => (-weights[i] * document.matches[i].distance) / weights.length;

/**
 * `score = -(1/n) * sum_i w_i * distance_i`; higher is better.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 */
export const score = (document, weights) => sum(weights.map((_, i) => contribution(document, weights, i)));

/**
 * @param {ExplainedDocument[]} documents
 * @param {number[]} weights
 * @returns {{document: ExplainedDocument, score: number}[]} best first; ties are broken by id
 */
export function ranked(documents, weights) {
  const scored = documents.map((document) => ({ document, score: score(document, weights) }));
  return scored.sort((a, b) => b.score - a.score || (a.document.id < b.document.id ? -1 : 1));
}

/**
 * The cosine of a match, clipped to 0 to 1. Either form of the distance gives it: ||a-b||^2 = 2 - 2<a,b> for unit
 * vectors.
 *
 * @param {number} distance
 * @param {"l2" | "cosine"} form
 */
export function closeness(distance, form) {
  const cosine = form === "l2" ? 1 - distance ** 2 / 2 : -distance;
  return Math.min(1, Math.max(0, cosine));
}

/**
 * The share of a score that comes from some query tokens.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {number[]} chosen
 */
export function share(document, weights, chosen) {
  const whole = sum(weights.map((_, i) => Math.abs(contribution(document, weights, i))));
  return whole === 0 ? 0 : sum(chosen.map((i) => Math.abs(contribution(document, weights, i)))) / whole;
}

/**
 * How much each word contributes to the gap between two scores, largest first.
 *
 * @param {ExplainedDocument} upper
 * @param {ExplainedDocument} lower
 * @param {number[]} weights
 * @param {import("./types.js").Word[]} words
 * @returns {{word: import("./types.js").Word, difference: number}[]} the differences add up to the gap
 */
export function differences(upper, lower, weights, words) {
  const of = (/** @type {number} */ i) => contribution(upper, weights, i) - contribution(lower, weights, i);
  return words
    .map((word) => ({ word, difference: sum(word.pieces.map(of)) }))
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

/** @param {number[]} numbers */
export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
