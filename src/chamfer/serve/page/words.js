/** Grouping query tokens into words. */

/** @typedef {import("./types.js").QueryToken} QueryToken */
/** @typedef {import("./types.js").Word} Word */

/**
 * @param {QueryToken[]} tokens
 * @returns {Word[]}
 */
export function wordsOf(tokens) {
  /** @type {Word[]} */
  const words = [];
  tokens.forEach((token, i) => {
    const last = words.at(-1);
    if (token.starts_word || token.special || !last || last.special)
      words.push({ text: token.word, pieces: [i], special: token.special });
    else last.pieces.push(i);
  });
  return words;
}

/**
 * The spelling of a token: "helps", or "oro in osteoporosis".
 *
 * @param {QueryToken[]} tokens
 * @param {Word[]} words
 * @param {number} i
 */
export function spelled(tokens, words, i) {
  const word = words.find(({ pieces }) => pieces.includes(i));
  return word && word.pieces.length > 1 ? `${tokens[i].text} in ${word.text}` : tokens[i].text;
}
