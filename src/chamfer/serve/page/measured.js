/** The measures of systems side by side: their means, and how far each is from the baseline, with its interval. */

import { decimal, element, measure, quiet, signed } from "./element.js";

/** @typedef {import("./evaluation.js").Evaluation} Evaluation */
/** @typedef {import("./evaluation.js").System} System */
/** @typedef {import("./evaluation.js").Difference} Difference */

/** Share of a scale that its labels take. */
const ROOM = 0.3;

/**
 * @param {Evaluation} evaluation
 * @param {System} baseline
 */
export function measures(evaluation, baseline) {
  const others = evaluation.systems.filter((system) => system !== baseline);
  const names = Object.keys(evaluation.measures);
  // All charts share one scale, so that they can be compared.
  const ends = others.flatMap((system) =>
    names.flatMap((name) => {
      const { difference, interval } = system.against_baseline[name];
      return [difference, ...(interval ?? [])];
    }),
  );
  const scale = scaleOf(Math.min(0, ...ends), Math.max(0, ...ends));
  const without = others.length > 0 && others.every((system) => names.every((name) => system.against_baseline[name].interval === null));
  return element(
    "section",
    { className: "evaluated" },
    element("h2", {}, "Measures"),
    quiet(
      `Dots show the difference from ${baseline.label}` +
        (without ? ". Too few queries for confidence intervals." : ", lines its 95% interval; a full dot means that the line does not reach 0."),
    ),
    element("div", { className: "measures" }, ...names.map((name) => chart(name, evaluation, baseline, scale))),
  );
}

/** @typedef {{low: number, high: number}} Scale */

/** A scale with round ends, and room for dots at them. @param {number} low @param {number} high @returns {Scale} */
function scaleOf(low, high) {
  const step = 10 ** Math.floor(Math.log10(Math.max(high - low, 0.01))) / 2;
  return { low: Math.floor(low / step - 0.2) * step, high: Math.ceil(high / step + 0.2) * step };
}

/**
 * @param {string} name
 * @param {Evaluation} evaluation
 * @param {System} baseline
 * @param {Scale} scale
 */
function chart(name, evaluation, baseline, scale) {
  const best = Math.max(...evaluation.systems.map((system) => system.measures[name]));
  const rows = evaluation.systems.map((system) => {
    const mean = system.measures[name];
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, system.label),
      element("td", { className: mean === best ? "number best" : "number" }, decimal(mean)),
      system === baseline
        ? element("td", { className: "quiet" }, "baseline")
        : element("td", {}, dots(system.against_baseline[name], scale), quiet(inWords(system.against_baseline[name]))),
    );
  });
  const id = `measure-${name.replace(/\W/g, "-")}`;
  return element(
    "section",
    { className: "measure", "aria-labelledby": id },
    element("h3", { id }, name),
    quiet(evaluation.measures[name]),
    element(
      "table",
      {},
      element("caption", { className: "unseen" }, `${name} of each system`),
      element(
        "thead",
        { className: "unseen" },
        element("tr", {}, ...["system", "mean", `difference from ${baseline.label}`].map((text) => element("th", { scope: "col" }, text))),
      ),
      element("tbody", {}, ...rows),
      evaluation.systems.length > 1 ? axis(scale) : null,
    ),
  );
}

/** @param {Difference} difference @param {Scale} scale */
function dots({ difference, interval }, scale) {
  const at = (/** @type {number} */ value) => (value - scale.low) / (scale.high - scale.low);
  const certain = interval !== null && (interval[0] > 0 || interval[1] < 0);
  const made = element(
    "div",
    { className: certain ? "dots certain" : "dots", ariaHidden: "true" },
    interval === null ? null : element("span", { className: "reach" }),
    element("span", { className: "dot" }),
  );
  measure(made, { zero: at(0), at: at(difference), low: at(interval?.[0] ?? 0), high: at(interval?.[1] ?? 0) });
  return made;
}

/** @param {Difference} difference */
const inWords = ({ difference, interval, p_value, wins, losses }) =>
  wins + losses === 0
    ? "no difference"
    : `${signed(difference)}${interval === null ? "" : ` (${signed(interval[0])} to ${signed(interval[1])})`}, ${pText(p_value)}`;

/** @param {number} p */
const pText = (p) => (p < 0.001 ? "p\u00a0<\u00a00.001" : `p\u00a0=\u00a0${p.toFixed(3)}`);

/** @param {Scale} scale */
function axis({ low, high }) {
  const zero = -low / (high - low);
  // An end that is close to 0 would be written over it.
  const line = element(
    "div",
    { className: "axis" },
    element("span", {}, zero > ROOM ? decimal(low, 2) : ""),
    element("span", { className: "zero" }, "0"),
    element("span", {}, 1 - zero > ROOM ? signed(high, 2) : ""),
  );
  measure(line, { zero });
  return element("tfoot", { ariaHidden: "true" }, element("tr", {}, element("td"), element("td"), element("td", {}, line)));
}
