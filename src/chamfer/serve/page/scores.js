/** Scores from distances, weights and evidence. None depends on the others, so re-ranking needs no request. */

/** @typedef {import("./types.js").Mix} Mix */
/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */

/**
 * What each part would add to a perfect match before that is called 1; see src/chamfer/weights/scale.py.
 *
 * @param {ExplainedDocument} document
 * @param {Mix} mix
 */
export function partsOf({ distances, evidence }, mix) {
  const perfect = (/** @type {import("./types.js").Evidence} */ name) => evidence.find((part) => part.name === name)?.perfect;
  return {
    words: distances.unrelated - distances.equal,
    lexical: mix.lexical * (perfect("lexical") ?? 0),
    pooled: mix.pooled * (perfect("pooled") ?? 1), // a cosine
  };
}

/** What a perfect match would add up to. @param {ExplainedDocument} document @param {Mix} mix */
export function whole(document, mix) {
  const { words, lexical, pooled } = partsOf(document, mix);
  return words + lexical + pooled;
}

/**
 * What one query token adds to a score: its weight times how much closer its match is than unrelated tokens.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {Mix} mix
 * @param {number} i position of the token in the query
 */
export function contribution(document, weights, mix, i) {
  const near = document.distances.unrelated - document.matches[i].distance;
  return (weights[i] * near) / (sum(weights) || 1) / whole(document, mix);
}

/** The names of the evidence beside the tokens. */
export const EVIDENCE = /** @type {const} */ (["lexical", "pooled"]);

/** What the evidence is called on the page. */
export const CALLED = { lexical: "exact terms", pooled: "overall meaning" };

/** A mix in which nothing counts beside the tokens. @type {Mix} */
export const NOTHING = { lexical: 0, pooled: 0 };

/**
 * What a piece of evidence adds to a score.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {Mix} mix
 * @param {import("./types.js").Evidence} name
 */
export function brought(document, weights, mix, name) {
  const value = document.evidence.find((part) => part.name === name)?.value ?? 0;
  return sum(weights) === 0 ? 0 : (mix[name] * value) / whole(document, mix);
}

/**
 * The sum of what tokens and evidence add, by which documents are ranked.
 *
 * @param {ExplainedDocument} document
 * @param {number[]} weights
 * @param {Mix} mix
 */
export const total = (document, weights, mix) => sum(contributions(document, weights, mix));

/**
 * The factor by which contributions are cut off to a score from 0 to 1, as the server does.
 *
 * @param {number} sum of the contributions
 */
export const kept = (sum) => (sum > 1 ? 1 / sum : sum < 0 ? 0 : 1);

/** @param {ExplainedDocument} document @param {number[]} weights @param {Mix} mix */
const contributions = (document, weights, mix) => [
  ...weights.map((_, i) => contribution(document, weights, mix, i)),
  ...EVIDENCE.map((name) => brought(document, weights, mix, name)),
];

/**
 * @param {ExplainedDocument[]} documents
 * @param {number[]} weights
 * @param {Mix} mix
 * @returns {{document: ExplainedDocument, score: number, kept: number}[]} best first, with scores from 0 to 1, a perfect
 *   match; ties are broken by id
 */
export function ranked(documents, weights, mix) {
  const scored = documents.map((document) => ({ document, sum: total(document, weights, mix) }));
  scored.sort((a, b) => b.sum - a.sum || (a.document.id < b.document.id ? -1 : 1));
  return scored.map(({ document, sum: whole }) => ({ document, score: whole * kept(whole), kept: kept(whole) }));
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
  const positive = (/** @type {number} */ part) => Math.max(part, 0);
  const all = sum(contributions(document, weights, mix).map(positive));
  return all === 0 ? 0 : sum(chosen.map((i) => positive(contribution(document, weights, mix, i)))) / all;
}

/**
 * How much each word contributes to the gap between two scores, largest first.
 *
 * @param {ExplainedDocument} upper
 * @param {ExplainedDocument} lower
 * @param {number[]} weights
 * @param {Mix} mix
 * @param {import("./types.js").Word[]} words
 * @returns {{word: import("./types.js").Word, difference: number}[]} the differences, and those of evidence, add up to
 *   the gap
 */
export function differences(upper, lower, weights, mix, words) {
  const of = (/** @type {number} */ i) =>
    contribution(upper, weights, mix, i) - contribution(lower, weights, mix, i);
  return words
    .map((word) => ({ word, difference: sum(word.pieces.map(of)) }))
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

/** @param {number[]} numbers */
export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
