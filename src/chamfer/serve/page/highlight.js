/** Document texts with highlighted matches, and how strong each highlight is. */

import { element, measure } from "./element.js";
import { closeness } from "./scores.js";
import { windows } from "./snippet.js";

/** @typedef {import("./types.js").ExplainedDocument} ExplainedDocument */
/** @typedef {import("./types.js").State} State */
/** @typedef {{node: HTMLElement, tokens: number[]}} Mark a highlight, and the query tokens that matched there */
/** @typedef {{nodes: (Node | string)[], marks: Mark[], shortened: boolean}} Highlighted */

/**
 * The strength of a match: weight times closeness. Its contribution would not do, because that is the cost of the
 * distance: a perfect match contributes 0.
 *
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {number[]} weights
 * @param {number} i
 */
const strength = (document, state, weights, i) =>
  weights[i] * closeness(document.matches[i].distance, state.answer.form);

/**
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {boolean} whole whether to show a long text in full
 * @returns {Highlighted}
 */
export function highlighted(document, state, whole) {
  // Spans count code points, but JavaScript strings are indexed by UTF-16 code units.
  const points = [...document.text];
  const matches = state.answer.tokens.flatMap((token, i) => {
    const { span } = document.matches[i];
    return span ? [{ i, span, strength: token.special ? 0 : strength(document, state, state.weights, i) }] : [];
  });
  const cut = windows(points, matches.filter((match) => match.strength > 0));
  const shortened = cut.length > 1 || cut[0][0] > 0 || cut[0][1] < points.length;
  /** @type {[number, number][]} */
  const ranges = whole ? [[0, points.length]] : cut;
  const edges = [...new Set([...ranges.flat(), ...matches.flatMap((match) => match.span)])].sort((a, b) => a - b);
  /** @type {Highlighted} */
  const made = { nodes: [], marks: [], shortened };
  for (const [start, end] of ranges) {
    if (start > 0) made.nodes.push("… ");
    const inside = edges.filter((edge) => edge >= start && edge <= end);
    for (let n = 0; n + 1 < inside.length; n++) {
      const [from, to] = [inside[n], inside[n + 1]];
      const text = points.slice(from, to).join("");
      const tokens = matches.filter(({ span }) => span[0] <= from && to <= span[1]).map(({ i }) => i);
      if (tokens.length === 0) {
        made.nodes.push(text);
        continue;
      }
      const node = element("mark", {}, text);
      made.marks.push({ node, tokens });
      made.nodes.push(node);
    }
  }
  if (ranges.at(-1)?.[1] !== points.length) made.nodes.push(" …");
  return made;
}

/**
 * Highlight what the active token matched in a document or, without one, softly all matches. Strength is relative to
 * the strongest match that these weights allow, so that documents can be compared.
 *
 * @param {Mark[]} marks
 * @param {ExplainedDocument} document
 * @param {State} state
 * @param {number[]} weights weights of the document's column
 */
export function heat(marks, document, state, weights) {
  const { active } = state;
  const most = Math.max(1e-9, ...state.answer.tokens.map((token, i) => (token.special ? 0 : weights[i])));
  for (const { node, tokens } of marks) {
    const lit = active !== null && tokens.includes(active);
    node.classList.toggle("lit", lit);
    let share = 0;
    if (active === null) {
      const text = tokens.filter((i) => !state.answer.tokens[i].special);
      share = 0.62 * Math.min(1, Math.max(0, ...text.map((i) => strength(document, state, weights, i))) / most);
    } else if (lit) {
      share = 0.25 + 0.75 * closeness(document.matches[active].distance, state.answer.form);
    }
    measure(node, { "heat-share": share });
  }
}
