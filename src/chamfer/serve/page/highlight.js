/** Document texts with highlighted matches, and how strong each highlight is. */

import { element, measure } from "./element.js";
import { closeness } from "./scores.js";
import { wholeWord, windows } from "./snippet.js";

/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/** @typedef {import("./types.js").State} State */
/** @typedef {{node: HTMLElement, tokens: number[], heat: number}} Mark a highlight, the query tokens that matched there, and how strong it is */
/**
 * `title` and `text` are what to show; `shortened` whether parts of the text are left out.
 *
 * @typedef {{title: (Node | string)[], text: (Node | string)[], marks: Mark[], shortened: boolean}} Highlighted
 */

/** Strength from which a highlight is no stronger: a weight that few words exceed, matched exactly. */
const HOT = 2;

/**
 * The strength of a match: weight times closeness.
 *
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {number[]} weights
 * @param {number} i
 */
const strength = (document, state, weights, i) =>
  weights[i] * closeness(document.matches[i].distance, state.answer.form);

/**
 * The excerpt follows the active word: it shows what that word matched.
 *
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {boolean} whole whether to show a long text in full
 * @returns {Highlighted}
 */
export function highlighted(document, state, whole) {
  // Spans count code points, but JavaScript strings are indexed by UTF-16 code units.
  const points = [...document.text];
  const matches = state.answer.tokens.flatMap((token, i) => {
    const matched = document.matches[i].span;
    const span = matched && wholeWord(points, matched);
    return span ? [{ i, span, strength: token.special ? 0 : strength(document, state, state.weights, i) }] : [];
  });
  // The title stands above the text, which spans count as its beginning.
  const head = document.title && document.text.startsWith(document.title) ? [...document.title].length : 0;
  const from = head && head + 1;
  const shown = matches.filter(({ i, strength: own }) => (state.active.length ? state.active.includes(i) : own > 0));
  const inText = shown.filter(({ span }) => span[0] >= from).map((match) => ({ ...match, span: shifted(match.span, -from) }));
  const body = points.slice(from);
  const cut = windows(body, inText);
  const shortened = cut.length > 1 || cut[0][0] > 0 || cut[0][1] < body.length;
  const ranges = (whole ? /** @type {[number, number][]} */ ([[0, body.length]]) : cut).map((range) => shifted(range, from));
  /** @type {Mark[]} */
  const marks = [];
  const text = ranges.flatMap((range, n) => [n ? " … " : range[0] > from ? "… " : "", ...marked(points, range, matches, marks)]);
  if (ranges.at(-1)?.[1] !== points.length) text.push(" …");
  return { title: marked(points, [0, head], matches, marks), text, marks, shortened };
}

/** @param {[number, number]} range @param {number} by @returns {[number, number]} */
const shifted = ([start, stop], by) => [start + by, stop + by];

/**
 * A range of a text, with an element for each part that something matched.
 *
 * @param {string[]} points
 * @param {[number, number]} range
 * @param {{i: number, span: [number, number]}[]} matches
 * @param {Mark[]} marks to which those of this range are added
 */
function marked(points, [start, stop], matches, marks) {
  const edges = [...new Set([start, stop, ...matches.flatMap(({ span }) => span)])]
    .filter((edge) => edge >= start && edge <= stop)
    .sort((a, b) => a - b);
  return edges.slice(1).map((to, n) => {
    const from = edges[n];
    const text = points.slice(from, to).join("");
    const tokens = matches.filter(({ span }) => span[0] <= from && to <= span[1]).map(({ i }) => i);
    if (tokens.length === 0) return text;
    const node = element("mark", {}, text);
    marks.push({ node, tokens, heat: 0 });
    return node;
  });
}

/**
 * Highlight what the active word matched in a document or, without one, softly all matches. The scale is absolute, as
 * that of the lines below words: raising one word does not fade what others matched.
 *
 * @param {Mark[]} marks
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {number[]} weights weights of the document's column
 */
export function heat(marks, document, state, weights) {
  const { active } = state;
  for (const mark of marks) {
    const { node, tokens } = mark;
    const lit = tokens.filter((i) => active.includes(i));
    node.classList.toggle("lit", lit.length > 0);
    let share = 0;
    if (active.length === 0) {
      const text = tokens.filter((i) => !state.answer.tokens[i].special);
      share = 0.62 * Math.min(1, Math.max(0, ...text.map((i) => strength(document, state, weights, i))) / HOT);
    } else if (lit.length) {
      share = 0.25 + 0.75 * Math.max(...lit.map((i) => closeness(document.matches[i].distance, state.answer.form)));
    }
    if (mark.heat === share) continue;
    mark.heat = share;
    measure(node, { "heat-share": share });
  }
}
