/** How the weights are distributed: a histogram whose bars list their tokens, with well-known words at both ends. */

import { byId, counted, element, measure } from "./element.js";
import { weighed } from "./naming.js";

/** @typedef {import("./types.js").DistributionResponse} DistributionResponse */
/** @typedef {import("./types.js").WeightBin} WeightBin */
/** @typedef {import("./types.js").WeightedToken} WeightedToken */

/** Words to name at either end, and labels below the bars; there is room for them on a phone. */
const NAMED = 3;
const LABELS = 6;
/** Share of the width that the words of one end need, so that those of the other can stand beside them. */
const APART = 0.45;

/** @type {HTMLButtonElement[]} */
let buttons = [];
/** The range that is listed. @type {WeightBin | null} */
let chosen = null;
/** @type {(bin: WeightBin | null) => void} */
let onChosen = () => {};

/**
 * @param {DistributionResponse} answer
 * @param {(bin: WeightBin | null) => void} onChoose called with the range whose tokens to list; null for none
 */
export function showDistribution(answer, onChoose) {
  const { bins } = answer;
  [chosen, onChosen] = [null, onChoose];
  byId("distribution-text").textContent = inWords(answer);
  byId("histogram").hidden = bins.length === 0;
  const most = Math.max(1, ...bins.map(({ tokens }) => tokens));
  buttons = bins.map((bin, n) => bar(bin, n, most));
  if (buttons.length) buttons[0].tabIndex = 0; // a toolbar is one tab stop; arrow keys move within it
  byId("bins").replaceChildren(...buttons);
  byId("ticks").replaceChildren(...labels(bins));
  byId("landmarks").replaceChildren(...landmarks(answer));
}

/** Forget the range that is listed. */
export function chooseNone() {
  chosen = null;
  for (const button of buttons) button.ariaPressed = "false";
}

/** @param {DistributionResponse} answer */
function inWords({ tokens, documents, passages, middle, heaviest, lightest }) {
  if (middle === null) return "No token occurs in the index yet, so there are no weights to show.";
  const [low, high] = middle.map(weighed);
  const many = `${counted(tokens, "token")} ${tokens === 1 ? "occurs" : "occur"} in ${counted(documents, passages ? "passage" : "document")}.`;
  const half = low === high ? `Most of them weigh ${low}.` : `Half of them weigh ${low} to ${high}.`;
  if (lightest.length === 0 || lightest[0].weight === heaviest[0].weight) return `${many} ${half}`;
  const [light, heavy] = [lightest[0], heaviest[0]].map(({ text, weight }) => `“${text}” (${weighed(weight)})`);
  return `${many} ${half} Of the frequent words, ${light} is the lightest and ${heavy} the heaviest.`;
}

/** @param {WeightBin} bin */
export function rangeOf({ least, below }) {
  if (least === null) return `less than ${below}`;
  return below === null ? `${least} or more` : `${least} to ${below}`;
}

/** @param {WeightBin} bin @param {number} n @param {number} most */
function bar(bin, n, most) {
  const name = `${rangeOf(bin)}: ${counted(bin.tokens, "token")}`;
  const made = element("button", {
    type: "button",
    className: bin.tokens ? "bin" : "bin none",
    tabIndex: -1,
    title: name,
    ariaLabel: name,
    ariaPressed: "false",
    onclick: () => choose(bin, n),
    onkeydown: (/** @type {KeyboardEvent} */ event) => move(event, n),
  });
  measure(made, { height: bin.tokens / most });
  return /** @type {HTMLButtonElement} */ (made);
}

/** @param {WeightBin} bin @param {number} n */
function choose(bin, n) {
  const again = chosen === bin;
  chooseNone();
  for (const [other, button] of buttons.entries()) button.tabIndex = other === n ? 0 : -1;
  if (!again) {
    chosen = bin;
    buttons[n].ariaPressed = "true";
  }
  onChosen(chosen);
}

/** @param {KeyboardEvent} event @param {number} n */
function move(event, n) {
  const last = buttons.length - 1;
  const to = { ArrowRight: Math.min(last, n + 1), ArrowLeft: Math.max(0, n - 1), Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  buttons[n].tabIndex = -1;
  buttons[to].tabIndex = 0;
  buttons[to].focus();
}

/** Numbers below the edges of bars: as many as fit, at round weights. @param {WeightBin[]} bins */
function labels(bins) {
  const edges = bins.flatMap(({ least }, n) => (least === null ? [] : [{ at: n / bins.length, value: least }]));
  const end = bins.at(-1);
  if (end && end.below !== null) edges.push({ at: 1, value: end.below });
  if (edges.length < 2) return [];
  const step = edges[1].value - edges[0].value;
  const wide = [1, 2, 4, 5, 10, 20, 50].find((factor) => {
    const digit = (factor * step) / 10 ** Math.floor(Math.log10(factor * step) + 1e-9);
    return [1, 2, 5].some((round) => Math.abs(digit - round) < 1e-6) && edges.length / factor <= LABELS;
  }) ?? edges.length;
  return edges
    .filter(({ value }) => Math.abs(value / (wide * step) - Math.round(value / (wide * step))) < 1e-6)
    .map(({ at, value }) => {
      const label = element("span", {}, String(value));
      measure(label, { at });
      return label;
    });
}

/** @param {DistributionResponse} answer */
function landmarks({ bins, heaviest, lightest }) {
  if (lightest.length === 0 || lightest[0].weight === heaviest[0].weight) return [];
  const light = lightest.slice(0, NAMED);
  const heavy = heaviest.slice(0, NAMED).filter(({ token }) => !light.some((other) => other.token === token));
  const [start, end] = [light[0], heaviest[0]].map(({ weight }) => place(bins, weight));
  const ends = [light, heavy].map((words) => words.map((word) => landmark(bins, word)));
  const apart = end - start >= APART;
  byId("landmarks").classList.toggle("stacked", !apart);
  for (const [n, marks] of ends.entries()) {
    // Lines go down to words, and no line may cross a word above.
    marks.sort((one, other) => (one.isBefore ? one.at - other.at : other.at - one.at));
    for (const [lane, { made, at }] of marks.entries()) measure(made, { at, lane: lane + (n && !apart ? light.length : 0) });
  }
  return ends.flat().map(({ made }) => made);
}

/** @param {WeightBin[]} bins @param {WeightedToken} word */
function landmark(bins, { text, weight }) {
  const at = place(bins, weight);
  const isBefore = at > 0.5;
  const name = element("strong", {}, text);
  return { at, isBefore, made: element("span", { className: isBefore ? "landmark leftward" : "landmark" }, name, ` ${weighed(weight)}`) };
}

/** Where a weight is on the axis, from 0 to 1. @param {WeightBin[]} bins @param {number} weight */
function place(bins, weight) {
  const n = Math.max(0, bins.findLastIndex(({ least }) => least === null || weight >= least));
  const { least, below } = bins[n];
  const within = least === null || below === null ? 0.5 : (weight - least) / (below - least);
  return (n + Math.min(1, within)) / bins.length;
}
