/** The marks: what was judged for each query, what cannot be learnt from, and marks as a file. */

import { ask } from "./dialogs.js";
import { download } from "./download.js";
import { byId, counted, element, quiet } from "./element.js";
import { asCsv, fromCsv } from "./exchange.js";
import { addJudgements, allJudgements, asRequested, clearJudgements, forgetDocuments } from "./judgements.js";
import { say, tell } from "./notice.js";

/** @typedef {import("./types.js").Judgement} Judgement */
/** @typedef {import("./types.js").CheckResponse["queries"][number]} Checked */

/** @param {Map<string, Checked>} checked what the server found, by query */
export function showMarks(checked) {
  const judged = asRequested();
  const gone = judged.filter(({ query }) => checked.get(query)?.unknown.length).length;
  byId("marks-note").textContent = judged.length
    ? "Kept in this browser only." +
      (gone ? ` The index has changed: documents marked for ${counted(gone, "query")} are gone.` : "")
    : "None yet. Marks are kept in this browser only.";
  byId("download-marks").hidden = judged.length === 0;
  byId("clear-marks").hidden = judged.length === 0;
  byId("judgements").replaceChildren(...judged.map((one) => item(one, checked.get(one.query))));
}

/** @param {Judgement} judgement @param {Checked | undefined} found */
function item({ query, relevant, not_relevant }, found) {
  const unknown = found?.unknown ?? [];
  const line = (/** @type {string} */ sign, /** @type {string} */ word, /** @type {string[]} */ ids) =>
    ids.length
      ? quiet(`${sign} ${word}: `, ...ids.flatMap((id, n) => [n ? ", " : "", element("span", { className: unknown.includes(id) ? "id gone" : "id" }, id)]))
      : null;
  const forget = element(
    "button",
    { type: "button", className: "link", onclick: () => forgetDocuments(query, unknown) },
    unknown.length === 1 ? "Remove this mark" : "Remove these marks",
  );
  return element(
    "li",
    {},
    element(
      "div",
      {},
      element("a", { href: `/?${new URLSearchParams({ q: query })}`, "data-query": query }, query),
      line("✓", "relevant", relevant),
      line("✕", "not relevant", not_relevant),
      // That nothing is marked relevant yet is no fault.
      found?.problem ? element("p", { className: relevant.length ? "mark-problem" : "quiet" }, `Not learnt from: ${found.problem}.`) : null,
      unknown.length
        ? element("p", { className: "mark-problem" }, `No longer in the index: ${unknown.join(", ")}. `, forget)
        : null,
    ),
    element("button", { type: "button", ariaLabel: `Clear the marks for ${query}`, onclick: () => clearJudgements(query) }, "Clear"),
  );
}

/** @param {File} file */
async function read(file) {
  try {
    const found = fromCsv(await file.text());
    const queries = Object.keys(found).length;
    const documents = Object.values(found).reduce((total, own) => total + Object.keys(own).length, 0);
    addJudgements(found);
    say(`Imported ${counted(documents, "mark")} for ${counted(queries, "query")}.`);
  } catch (error) {
    tell(error);
  }
}

async function clearAll() {
  const count = asRequested().length;
  const what = `This removes the marks for ${counted(count, "query")} from this browser. Weights do not change.`;
  if (await ask("Clear all marks?", "Clear all", element("p", {}, what))) clearJudgements();
}

export function startMarks() {
  const chosen = /** @type {HTMLInputElement} */ (byId("marks-file"));
  byId("download-marks").addEventListener("click", () => download(asCsv(allJudgements()), "text/csv", "judged.csv"));
  byId("import-marks").addEventListener("click", () => chosen.click());
  chosen.addEventListener("change", async () => {
    const [file] = chosen.files ?? [];
    if (file) await read(file);
    chosen.value = ""; // so that the same file can be chosen again
  });
  byId("clear-marks").addEventListener("click", () => void clearAll());
}
