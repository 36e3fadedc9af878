/** Scores from distances, weights and evidence. None depends on the others, so re-ranking needs no request. */

/** @typedef {import("./types.js").Mix} Mix */
/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */

/**
 * The contribution of one query token to a score.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {number} i position of the token in the query
 */
export const contribution = (document, weights, i) => (-weights[i] * document.matches[i].distance) / weights.length;

/** The names of the evidence beside the tokens. */
export const EVIDENCE = /** @type {const} */ (["lexical", "pooled"]);

/** A mix in which nothing counts beside the tokens. @type {Mix} */
export const NOTHING = { lexical: 0, pooled: 0 };

/**
 * The contribution of a piece of evidence to a score: total weight / query tokens * factor * value.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {Mix} mix
 * @param {import("./types.js").Evidence} name
 */
export function brought(document, weights, mix, name) {
  const value = document.evidence.find((part) => part.name === name)?.value ?? 0;
  return (sum(weights) / weights.length) * mix[name] * value;
}

/**
 * `score = -(1/n) * sum_i w_i * distance_i`, plus evidence; higher is better.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {Mix} mix
 */
export const score = (document, weights, mix) => sum(contributions(document, weights, mix));

/** @param {ExplainedDocument} document @param {number[]} weights @param {Mix} mix */
const contributions = (document, weights, mix) => [
  ...weights.map((_, i) => contribution(document, weights, i)),
  ...EVIDENCE.map((name) => brought(document, weights, mix, name)),
];

/**
 * @param {ExplainedDocument[]} documents
 * @param {number[]} weights
 * @param {Mix} mix
 * @returns {{document: ExplainedDocument, score: number}[]} best first; ties are broken by id
 */
export function ranked(documents, weights, mix) {
  const scored = documents.map((document) => ({ document, score: score(document, weights, mix) }));
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
 * @param {Mix} mix
 * @param {number[]} chosen
 */
export function share(document, weights, mix, chosen) {
  const whole = sum(contributions(document, weights, mix).map(Math.abs));
  return whole === 0 ? 0 : sum(chosen.map((i) => Math.abs(contribution(document, weights, i)))) / whole;
}

/**
 * How much each word contributes to the gap between two scores, largest first.
 *
 * @param {ExplainedDocument} upper
 * @param {ExplainedDocument} lower
 * @param {number[]} weights
 * @param {import("./types.js").Word[]} words
 * @returns {{word: import("./types.js").Word, difference: number}[]} the differences, and those of evidence, add up to
 *   the gap
 */
export function differences(upper, lower, weights, words) {
  const of = (/** @type {number} */ i) => contribution(upper, weights, i) - contribution(lower, weights, i);
  return words
    .map((word) => ({ word, difference: sum(word.pieces.map(of)) }))
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

/** @param {number[]} numbers */
export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
