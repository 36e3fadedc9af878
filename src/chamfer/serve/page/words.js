/** Grouping query tokens into words. */

/** @typedef {import("./types.js").QueryToken} QueryToken */
/** @typedef {import("./types.js").Word} Word */

/**
 * The words of a query. All special tokens, which matter to few users, are one word at the end.
 *
 * @param {QueryToken[]} tokens
 * @returns {Word[]}
 */
export function wordsOf(tokens) {
  /** @type {Word[]} */
  const words = [];
  tokens.forEach((token, i) => {
    if (token.special) return;
    const follows = !token.starts_word && i > 0 && !tokens[i - 1].special;
    const last = words.at(-1);
    if (last && follows) last.pieces.push(i);
    else words.push({ text: token.word, pieces: [i], special: false });
  });
  const special = tokens.flatMap((token, i) => (token.special ? [i] : []));
  return special.length ? [...words, { text: "special tokens", pieces: special, special: true }] : words;
}
