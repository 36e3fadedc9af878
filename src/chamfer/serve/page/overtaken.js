/** Why a query was won or lost: which document overtook which, and the words that made the difference. */

import { element, measure, quiet, signed, unseen } from "./element.js";
import { CALLED } from "./scores.js";
import { wholeWord, windows } from "./snippet.js";

/** @typedef {import("./evaluation.js").Change} Change */
/** @typedef {import("./evaluation.js").Gap} Gap */
/** @typedef {import("./evaluation.js").MovedDocument} MovedDocument */
/** @typedef {import("./evaluation.js").System} System */

/** Words to show one by one. */
const SHOWN = 5;

/** Words to name in the sentence. */
const NAMED = 3;

/** @param {Pick<Gap, "text" | "kind">} gap a word, or evidence */
const nameOf = ({ text, kind }) => (kind === "evidence" && (text === "lexical" || text === "pooled") ? CALLED[text] : text);

/**
 * @param {Change} change
 * @param {{difference: number}} outcome
 * @param {System} system
 * @param {System} baseline
 * @param {string | null} link
 * @returns {HTMLElement[]}
 */
export function because(change, { difference }, system, baseline, link) {
  const parts = [
    element("p", { className: "because" }, ...sentence(change, difference)),
    element("div", { className: "pair" }, ...[change.relevant, change.other].flatMap((one, n) => (one ? [card(one, n === 0)] : []))),
  ];
  if (change.gaps.length) parts.push(gaps(change, system, baseline));
  if (change.unexplained) parts.push(quiet(`${change.unexplained[0].toUpperCase()}${change.unexplained.slice(1)}.`));
  if (link !== null) parts.push(element("p", { className: "look" }, element("a", { href: link }, "Look at this query in the search view")));
  return parts;
}

/** A document by its title, or by its id. @param {MovedDocument | null} one */
const name = (one) => (one?.title ? element("cite", {}, one.title) : element("span", { className: "id" }, one?.id ?? ""));

/** @param {Change} change @param {number} difference */
function sentence({ relevant, other, gaps: all }, difference) {
  const lost = difference < 0;
  const told = ["Relevant ", name(relevant), ` ${fromTo(relevant, lost)}`];
  if (other) told.push(`, ${lost ? "below" : "above"} `, name(other), ` (${judged(other)})`);
  told.push(". ");
  // Gaps are for the relevant document, so in a lost query those count that shrink.
  const turned = all.filter(
    ({ text, before, after }) =>
      before !== null && after !== null && (lost ? after < before : after > before) && /[\p{L}\p{N}]/u.test(text),
  );
  const names = turned.slice(0, NAMED).map(({ text, kind }) => nameOf({ text, kind }));
  if (names.length) told.push(`What changed most ${lost ? "against" : "for"} it: `, element("strong", {}, names.join(", ")), ".");
  return told;
}

/** @param {MovedDocument} one @param {boolean} lost */
function fromTo({ before, after }, lost) {
  if (before === null) return `is found at ${after}`;
  if (after === null) return `falls from ${before} and is no longer found`;
  return `${lost ? "falls" : "rises"} from ${before} to ${after}`;
}

/** @param {MovedDocument} one */
const judged = ({ grade }) => (grade === null ? "not judged" : grade > 0 ? "relevant, too" : "not relevant");

/** @param {MovedDocument} one @param {boolean} relevant */
function card(one, relevant) {
  const about = relevant && one.grade !== null && one.grade > 1 ? `relevant, grade ${one.grade}` : one.grade === null ? "not judged" : one.grade > 0 ? "relevant" : "not relevant";
  return element(
    "div",
    { className: relevant ? "moved-document relevant" : "moved-document" },
    element(
      "p",
      { className: "moved-head" },
      one.title ? element("strong", {}, one.title) : null,
      element(one.title ? "span" : "strong", { className: "id" }, one.id),
      element("span", { className: "quiet" }, about),
      element("span", { className: "ranks" }, unseen("rank "), `${one.before ?? "–"} → ${one.after ?? "–"}`),
    ),
    one.text ? element("p", { className: "excerpt" }, ...excerpt(one)) : null,
  );
}

/** The parts of a text around its strongest matches, which are highlighted; its title stands above. @param {MovedDocument} one */
function excerpt({ text, marks, title }) {
  // Marks count code points, but JavaScript strings are indexed by UTF-16 code units.
  const head = title && text.startsWith(title) ? [...title].length + 1 : 0;
  const points = [...text].slice(head);
  const words = marks.flatMap(([start, end, own]) => {
    const span = start < head ? null : wholeWord(points, [start - head, end - head]);
    return span ? [{ span, strength: own }] : [];
  });
  const cut = windows(points, words);
  const strength = new Float64Array(points.length);
  for (const { span: [start, end], strength: own } of words) for (let n = start; n < end; n++) strength[n] = Math.max(strength[n], own);
  /** @type {(Node | string)[]} */
  const made = [];
  for (const [start, end] of cut) {
    if (start > 0) made.push(made.length ? " … " : "… ");
    for (let from = start, to = start; from < end; from = to) {
      while (to < end && strength[to] === strength[from]) to++;
      const part = points.slice(from, to).join("");
      if (strength[from] === 0) made.push(part);
      else {
        const mark = element("mark", {}, part);
        measure(mark, { "heat-share": 0.15 + 0.6 * strength[from] });
        made.push(mark);
      }
    }
  }
  if (cut.at(-1)?.[1] !== points.length) made.push(" …");
  return made;
}

/** @param {Change} change @param {System} system @param {System} baseline */
function gaps({ gaps: all, relevant, other }, system, baseline) {
  const words = all.filter(({ kind }) => kind === "word");
  const rest = words.slice(SHOWN);
  /** @type {(Gap & {back?: boolean})[]} */
  const rows = words.slice(0, SHOWN);
  if (rest.length) rows.push({ ...total(rest), text: rest.length === 1 ? rest[0].text : "all other words", back: true });
  rows.push(...all.filter(({ kind }) => kind === "evidence"), ...all.filter(({ kind }) => kind === "special").map((gap) => ({ ...gap, back: true })));
  const longest = Math.max(1e-12, ...rows.flatMap(({ before, after }) => [Math.abs(before ?? 0), Math.abs(after ?? 0)]));
  const sides = [baseline, system].filter((_, n) => all.some((gap) => (n ? gap.after : gap.before) !== null));
  const value = (/** @type {Gap} */ gap, /** @type {System} */ side) => (side === system ? gap.after : gap.before) ?? 0;
  const sum = total(all);
  return element(
    "table",
    { className: "gaps" },
    element(
      "caption",
      {},
      "Evidence for ",
      name(relevant),
      " (right) and ",
      name(other),
      " (left) ",
      ...sides.map((side) => element("span", { className: side === system ? "key after" : "key before" }, side.label)),
    ),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col" }, unseen("word")),
        element("td", { className: "tilt-cell" }),
        ...sides.map((side) => element("th", { scope: "col", className: "number" }, side.label)),
      ),
    ),
    element("tbody", {}, ...rows.map((gap) => line(gap, sides, system, value, longest))),
    element(
      "tfoot",
      {},
      element("tr", {}, element("th", { scope: "row" }, "total"), element("td"), ...sides.map((side) => element("td", { className: "number" }, signed(value(sum, side), 4)))),
    ),
  );
}

/**
 * @param {Gap & {back?: boolean}} gap
 * @param {System[]} sides
 * @param {System} system
 * @param {(gap: Gap, side: System) => number} value
 * @param {number} longest
 */
function line(gap, sides, system, value, longest) {
  const bars = sides.map((side) => {
    const own = value(gap, side);
    const bar = element("span", { className: `tilt ${own < 0 ? "against" : "for"} ${side === system ? "after" : "before"}` });
    measure(bar, { length: Math.abs(own) / longest });
    return bar;
  });
  const name = nameOf(gap);
  return element(
    "tr",
    { className: gap.back ? "muted" : gap.kind === "evidence" ? `by-${gap.text}` : "" },
    element("th", { scope: "row" }, name),
    element("td", { className: "tilt-cell", ariaHidden: "true" }, ...bars),
    ...sides.map((side) => element("td", { className: "number" }, signed(value(gap, side), 4))),
  );
}

/** The sum of several gaps. @param {Gap[]} all @returns {Gap} */
const total = (all) => ({
  text: "",
  kind: "word",
  before: all.reduce((sum, { before }) => sum + (before ?? 0), 0),
  after: all.reduce((sum, { after }) => sum + (after ?? 0), 0),
});
