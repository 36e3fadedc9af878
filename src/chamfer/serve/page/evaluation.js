/** An evaluation, drawn: in the evaluation view, and in a report that needs no server. */

import { counted, element, quiet, sentence, unseen } from "./element.js";
import { measures } from "./measured.js";
import { outcomes } from "./outcomes.js";

/**
 * What the server and the library answer, as in src/chamfer/serve/schemas/evaluation.py.
 *
 * @typedef {{difference: number, interval: [number, number] | null, p_value: number, wins: number, ties: number,
 *   losses: number}} Difference
 * @typedef {{id: string, grade: number | null, before: number | null, after: number | null, text: string,
 *   marks: [number, number, number][], title: string}} MovedDocument
 * @typedef {{text: string, kind: "word" | "special" | "evidence", before: number | null, after: number | null}} Gap
 * @typedef {{query: string, relevant: MovedDocument, other: MovedDocument | null, gaps: Gap[], unexplained: string}} Change
 * @typedef {{name: string, label: string, version?: number | null, headline: string, measures: Record<string, number>,
 *   against_baseline: Record<string, Difference>, values: Record<string, number[]>, changes: Change[], answered: number}} System
 * @typedef {{dataset: string, split: string, queries: number, units: number, grouped_by: string, documents: number, settings: Record<string, any>,
 *   notes: string[], baseline: string, main: string, measures: Record<string, string>,
 *   judged: {id: string, text: string}[],
 *   systems: System[], seconds: number}} Evaluation
 *
 * The address at which a query can be looked into further, null if there is none.
 * @typedef {(query: string, system: System, baseline: System) => string | null} LinkOf
 */

/**
 * The parts of an evaluation.
 *
 * @param {Evaluation} evaluation
 * @param {{linkOf?: LinkOf, on?: string}} [options] `on` is what to call the judged queries
 * @returns {HTMLElement[]}
 */
export function drawn(evaluation, { linkOf = () => null, on } = {}) {
  const baseline = baselineOf(evaluation);
  const others = evaluation.systems
    .filter((system) => system !== baseline)
    .sort((a, b) => b.measures[evaluation.main] - a.measures[evaluation.main]);
  return [
    element("p", { className: "measured-on" }, measuredOn(evaluation, on)),
    element("div", { className: "headlines" }, ...others.map((system) => headline(system, evaluation.main))),
    ...notes(evaluation.notes),
    measures(evaluation, baseline),
    ...(others.length ? [outcomes(evaluation, baseline, others, linkOf)] : []),
    settings(evaluation),
  ];
}

/** @param {Evaluation} evaluation @returns {System} */
const baselineOf = ({ systems, baseline }) =>
  systems.find(({ name, label }) => name === baseline || label === baseline) ?? systems[0];

/** @param {Evaluation} evaluation @param {string} [on] */
const measuredOn = ({ queries, documents, split, dataset, units, grouped_by: by }, on) =>
  `Measured on ${on ?? `${split} of ${dataset}`}: ${counted(queries, "query")}, ${counted(documents, "document")}.` +
  (units < queries
    ? ` Queries that share their words${by === "text" ? "" : " or a relevant document"} count as one in tests and intervals: ${units.toLocaleString("en")} in all.`
    : "");

/** A comparison in plain words, and a bar of the queries that are won, unchanged and lost. @param {System} system @param {string} main */
function headline(system, main) {
  const { wins, ties, losses } = system.against_baseline[main];
  const part = (/** @type {string} */ kind, /** @type {number} */ count, /** @type {string} */ sign) => {
    if (count === 0) return null;
    const made = element("span", { className: `part ${kind}` }, `${sign}${count}`);
    made.style.setProperty("flex-grow", String(count));
    return made;
  };
  return element(
    "div",
    { className: "headline" },
    element("p", {}, ...labelled(system.headline, system.label)),
    element(
      "div",
      { className: "tally", ariaHidden: "true" },
      part("higher", wins, "▲ "),
      part("same", ties, "= "),
      part("lower", losses, "▼ "),
    ),
  );
}

/** A sentence that begins with a name, which is set apart. @param {string} text @param {string} name */
function labelled(text, name) {
  const unbroken = text.replace(/\(p ([=<]) /, "(p\u00a0$1\u00a0");
  return unbroken.startsWith(name) ? [element("strong", {}, name), unbroken.slice(name.length)] : [unbroken];
}

/** @param {string[]} told */
function notes(told) {
  if (told.length === 0) return [];
  return [element("ul", { className: "notes" }, ...told.map((note) => element("li", {}, unseen("Note: "), sentence(note))))];
}

/** What the settings are called; others are not shown. */
const SETTINGS = {
  encoder: "encoder",
  query_length: "tokens read of a query",
  document_length: "tokens read of a document",
  form: "form of the score",
  first_stage: "first stage",
  depth: "candidates per query",
};

/** @param {Evaluation} evaluation */
function settings({ settings: chosen, seconds }) {
  const rows = Object.entries(SETTINGS)
    .filter(([name]) => chosen[name] !== null && chosen[name] !== undefined)
    .map(([name, called]) => [called, String(chosen[name])]);
  rows.push(["time", `${seconds} s`]);
  return element(
    "section",
    { className: "evaluated" },
    element("h2", {}, "Settings"),
    element("dl", { className: "settings" }, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    quiet("Each comparison with the baseline is tested on its own, by a paired randomisation test; intervals are 95% bootstrap intervals of the mean difference."),
  );
}
