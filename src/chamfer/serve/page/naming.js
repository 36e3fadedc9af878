/** How weights, tokens and where weights come from are written. */

import { decimal } from "./element.js";

/** @typedef {import("./types.js").WeightedToken} WeightedToken */

/** A weight as people write it; there is no largest and no smallest one. @param {number} weight */
export function weighed(weight) {
  if (weight !== 0 && weight < 0.01) return weight.toExponential(1).replace("-", "−");
  return weight < 1000 ? decimal(weight, 2) : Math.round(weight).toLocaleString("en");
}

/** Where the weight of a token comes from. @param {WeightedToken} token */
export function originOf({ origin, before, weight }) {
  const was = before === null ? "" : weighed(before) === weighed(weight) ? ", unchanged" : `, ${weighed(before)} before`;
  return {
    counted: "from its rarity",
    learnt: `learnt from judged queries${was}`,
    edited: `set by hand${was}`,
    uniform: "the same for all tokens",
    special: "a special token",
    unseen: "in no document",
    given: "from a file",
  }[origin];
}

/** A token as it is read in a word: pieces that continue one begin with an ellipsis. @param {{text: string, starts_word: boolean}} token */
export const spelledPiece = ({ text, starts_word }) => (starts_word ? text : `…${text}`);

/** The weights that are computed from the index: what they are called everywhere on the page, and what they are made of. */
export const COMPUTED = {
  mix: { name: "Mix", about: "softened IDF, overall meaning and exact terms" },
  "idf-soft": { name: "Softened IDF", about: "rare words weigh somewhat more" },
  idf: { name: "IDF", about: "rare words weigh more" },
  uniform: { name: "Uniform", about: "every word weighs the same" },
};

/** The name of a version; the names of weights are given in words. @param {string} name */
export const versionName = (name) => /** @type {Record<string, {name: string} | undefined>} */ (COMPUTED)[name]?.name ?? name;
