/** Which parts of a long text to show: those around the strongest matches. */

/** In code points, about two lines of a column. A text slightly over the budget is shown in full. */
const WHOLE = 165;
const BUDGET = 150;
const AROUND = 40;

/**
 * @param {string[]} points the text's code points
 * @param {{span: [number, number], strength: number}[]} matches
 * @returns {[number, number][]} ranges of code points, in the order of the text
 */
export function windows(points, matches) {
  if (points.length <= WHOLE) return [[0, points.length]];
  /** @type {[number, number][]} */
  let chosen = [];
  for (const { span } of [...matches].sort((a, b) => b.strength - a.strength)) {
    const wider = merged([...chosen, around(points, span)]);
    const length = wider.reduce((total, [start, end]) => total + end - start, 0);
    if (length <= BUDGET || chosen.length === 0) chosen = wider;
  }
  return chosen.length ? chosen : [[0, wordEnd(points, BUDGET)]];
}

/** Letters of words that spaces separate; scripts without spaces have no end of a word to look for. */
const LETTER = /[\p{L}\p{N}\p{M}]/u;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * The word that a token is a piece of.
 *
 * @param {string[]} points
 * @param {[number, number]} span of the token
 * @returns {[number, number] | null} null for punctuation, which nobody wants to see highlighted
 */
export function wholeWord(points, [start, end]) {
  if (!points.slice(start, end).some((point) => LETTER.test(point))) return null;
  const continues = (/** @type {number} */ at) => at >= 0 && at < points.length && LETTER.test(points[at]) && !UNSPACED.test(points[at]);
  const [first, last] = [continues(start), continues(end - 1)];
  while (first && continues(start - 1)) start--;
  while (last && continues(end)) end++;
  return [start, end];
}

/** @param {string[]} points @param {[number, number]} span @returns {[number, number]} */
function around(points, [start, end]) {
  return [wordStart(points, Math.max(0, start - AROUND)), wordEnd(points, Math.min(points.length, end + AROUND))];
}

/** @param {[number, number][]} ranges @returns {[number, number][]} */
function merged(ranges) {
  /** @type {[number, number][]} */
  const joined = [];
  for (const [start, end] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && start <= last[1] + 1) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}

/** @param {string[]} points @param {number} at */
function wordStart(points, at) {
  if (at === 0) return 0;
  const space = points.indexOf(" ", at);
  return space >= 0 && space - at < 20 ? space + 1 : at;
}

/** @param {string[]} points @param {number} at */
function wordEnd(points, at) {
  if (at >= points.length) return points.length;
  const space = points.lastIndexOf(" ", at);
  return space >= 0 && at - space < 20 ? space : at;
}
