/** What weights make of distances. Distances do not depend on weights, so none of this needs the server. */

/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */

/**
 * What one query token adds to a score.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {number} i which token of the query
 */
export const contribution = (document, weights, i) => (-weights[i] * document.matches[i].distance) / weights.length;

/**
 * `score = -(1/n) * sum_i w_i * distance_i`; higher is closer.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 */
export const score = (document, weights) => sum(weights.map((_, i) => contribution(document, weights, i)));

/**
 * @param {ExplainedDocument[]} documents
 * @param {number[]} weights
 * @returns {{document: ExplainedDocument, score: number}[]} the best first, ties by id as everywhere in chamfer
 */
export function ranked(documents, weights) {
  const scored = documents.map((document) => ({ document, score: score(document, weights) }));
  return scored.sort((a, b) => b.score - a.score || (a.document.id < b.document.id ? -1 : 1));
}

/**
 * How close a match is, from 0 for unrelated vectors to 1 for equal ones: the cosine, which both forms of the distance
 * know (for unit vectors, ||a-b||^2 = 2 - 2<a,b>).
 *
 * @param {number} distance
 * @param {"l2" | "cosine"} form
 */
export function closeness(distance, form) {
  const cosine = form === "l2" ? 1 - distance ** 2 / 2 : -distance;
  return Math.min(1, Math.max(0, cosine));
}

/**
 * The share of a score that some query tokens carry.
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
 * The words that decide why one document is above another, the most decisive first.
 *
 * @param {ExplainedDocument} upper
 * @param {ExplainedDocument} lower
 * @param {number[]} weights
 * @param {import("./types.js").Word[]} words
 * @returns {{word: import("./types.js").Word, difference: number}[]} differences add up to that of the scores
 */
export function differences(upper, lower, weights, words) {
  const of = (/** @type {number} */ i) => contribution(upper, weights, i) - contribution(lower, weights, i);
  return words
    .map((word) => ({ word, difference: sum(word.pieces.map(of)) }))
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

/** @param {number[]} numbers */
export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
