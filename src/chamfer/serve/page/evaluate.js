/** The evaluation view: what to measure, the result, and the result as a file. */

import * as api from "./api.js";
import { download } from "./download.js";
import { byId, counted, element, sentence } from "./element.js";
import { drawn } from "./evaluation.js";
import { allJudgements, learnable, onJudgements } from "./judgements.js";
import { joinedFile } from "./judgedfiles.js";
import { COMPUTED, versionName } from "./naming.js";
import { say, tell } from "./notice.js";

/** @typedef {import("./types.js").WeightsResponse} WeightsResponse */
/** @typedef {import("./evaluation.js").Evaluation} Evaluation */
/** @typedef {import("./evaluation.js").System} System */

/** Most weights that the server compares. */
const MOST = 6;

/** Stands for the data in the file of a report. */
const DATA = "@@evaluation@@";

/** The weights that can be compared; null before the server has listed them. @type {WeightsResponse | null} */
let known = null;
/** What is shown. @type {Evaluation | null} */
let shown = null;
/** Files that were dropped; the browser may not let them be put into the input. @type {File[]} */
let dropped = [];

/** Whether the user chose between marks and a file. */
let picked = false;

/** Names of what the boxes and the baseline stand for: `current`, a number, or weights by name. */
let chosen = new Set(["uniform", "current"]);

const boxes = () => /** @type {NodeListOf<HTMLInputElement>} */ (byId("compared").querySelectorAll("input"));
const asked = () => [...boxes()].filter((box) => box.checked).map((box) => weightsOf(box.value));

/** @param {string} value */
const weightsOf = (value) => (/^\d+$/.test(value) ? Number(value) : value);

/** @param {boolean} visible whether the view is visible */
export function showEvaluate(visible) {
  if (visible) void loadWeights();
}

async function loadWeights() {
  try {
    const { refusal } = await api.evaluation();
    byId("evaluate").hidden = refusal !== null;
    if (refusal !== null) {
      byId("evaluate-lead").textContent = sentence(refusal);
      return;
    }
    known = await api.versions();
    listWeights();
  } catch (error) {
    tell(error);
  }
}

function listWeights() {
  if (known === null) return;
  const { version, versions } = known;
  const used = versions.find((one) => one.version === version);
  /** @type {[string, string, string][]} */
  const all = [
    ["current", `In use: version ${version}`, used ? versionName(used.name) : ""],
    ...Object.entries(COMPUTED).map(([value, { name }]) => /** @type {[string, string, string]} */ ([value, name, ""])),
    ...versions
      .filter((one) => one !== used)
      .map((one) => /** @type {[string, string, string]} */ ([String(one.version), `Version ${one.version}`, versionName(one.name)])),
  ];
  byId("compared").replaceChildren(
    ...all.map(([value, called, about]) =>
      element(
        "label",
        { className: "choice" },
        element("input", { type: "checkbox", value, checked: chosen.has(value), onchange: choose }),
        " ",
        element("span", {}, called, about ? element("span", { className: "quiet" }, ` ${about}`) : null),
      ),
    ),
  );
  choose();
}

/** Follow the boxes: the baseline is one of the chosen weights. */
function choose() {
  const now = [...boxes()].filter((box) => box.checked);
  chosen = new Set(now.map(({ value }) => value));
  const before = byId("baseline").value || "uniform";
  byId("baseline").replaceChildren(
    ...now.map(({ value, parentElement }) => element("option", { value }, parentElement?.querySelector("span")?.firstChild?.textContent ?? value)),
  );
  byId("baseline").value = chosen.has(before) ? before : (now[0]?.value ?? "");
  for (const box of boxes()) box.disabled = !box.checked && now.length >= MOST;
  ready();
}

/** @returns {File[]} */
const files = () => (byId("judged-file").files.length ? [...byId("judged-file").files] : dropped);

/** Say what can be measured on, and allow it. */
function ready() {
  const marks = learnable().length;
  const documents = Object.values(allJudgements()).reduce((total, own) => total + Object.keys(own).length, 0);
  byId("use-marks").disabled = marks === 0;
  byId("marks-label").textContent = marks
    ? `Your ${counted(documents, "mark")}, for ${counted(marks, "query")} with a relevant document`
    : "Your marks: mark results as relevant in the search view first";
  if (marks === 0 || !picked) byId(marks ? "use-marks" : "use-file").checked = true;
  byId("evaluate-run").disabled = running || asked().length < 2 || (byId("use-file").checked && files().length === 0);
}

/** @param {string} name the radio button that the user chose, or that goes with what the user did */
function pick(name) {
  picked = true;
  byId(name).checked = true;
  ready();
}

let running = false;

/** @param {Event} event */
async function run(event) {
  event.preventDefault();
  if (byId("evaluate-run").disabled) return;
  const [weights, baseline, judged] = [asked(), weightsOf(byId("baseline").value), files()];
  const what = byId("use-marks").checked ? "your marks" : judged.map(({ name }) => name).join(" and ");
  const stop = progress(what, weights.length);
  running = true;
  ready();
  byId("evaluation").hidden = byId("evaluate-save").hidden = true;
  say(`Evaluating ${what} with ${weights.length} weightings…`, byId("use-marks").checked ? "/evaluate" : "/evaluate/file");
  try {
    shown =
      byId("use-marks").checked || judged.length === 0
        ? await api.evaluate({ judgements: learnable(), weights, baseline })
        : await api.evaluateFile(await joinedFile(judged), weights, baseline);
    const title = element("h2", { id: "evaluation-title", className: "unseen" }, `Evaluation of ${what}`);
    byId("evaluation").replaceChildren(title, ...drawn(shown, { linkOf, on: what }));
    byId("evaluation").hidden = byId("evaluate-save").hidden = false;
    byId("evaluation").focus({ preventScroll: true });
    byId("evaluation").scrollIntoView({ block: "start" });
  } catch (error) {
    tell(error);
  } finally {
    stop();
    running = false;
    ready();
  }
}

/** A line with a clock; screen readers hear the notice instead. @param {string} what @param {number} count */
function progress(what, count) {
  const line = byId("evaluate-progress");
  const started = Date.now();
  const tick = () => {
    const seconds = Math.round((Date.now() - started) / 1000);
    line.textContent = `Searching for the queries of ${what} with ${count} weightings… ${seconds} s`;
  };
  tick();
  line.hidden = false;
  const timer = setInterval(tick, 1000);
  return () => {
    clearInterval(timer);
    line.hidden = true;
  };
}

/**
 * The search view compares any weights with uniform ones, side by side.
 *
 * @type {import("./evaluation.js").LinkOf}
 */
function linkOf(query, system, baseline) {
  const searched = [system, baseline].find(({ name }) => name !== "uniform");
  if (!searched) return null;
  const weights = weightsInSearch(searched);
  return `/?${new URLSearchParams({ q: query, ...(weights === "current" ? {} : { weights }) })}`;
}

/** @param {System} system */
function weightsInSearch({ name, version }) {
  if (version === null || version === undefined) return name;
  return version === known?.version ? "current" : String(version);
}

async function save() {
  const now = shown;
  if (now === null) return;
  try {
    const page = await api.reportPage();
    const data = JSON.stringify(now).replaceAll("<", "\\u003c"); // no text can end the element
    download(page.replace(DATA, () => data), "text/html", `evaluation-${now.dataset.replace(/[^\w.-]+/g, "-")}.html`);
  } catch (error) {
    tell(error);
  }
}

function startDrop() {
  const zone = byId("drop");
  const over = (/** @type {boolean} */ is) => void zone.classList.toggle("over", is);
  zone.addEventListener("dragover", (/** @type {DragEvent} */ event) => (event.preventDefault(), over(true)));
  zone.addEventListener("dragleave", () => over(false));
  zone.addEventListener("drop", (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    over(false);
    const transferred = event.dataTransfer?.files;
    if (!transferred?.length) return;
    dropped = [...transferred];
    byId("judged-file").files = transferred;
    pick("use-file");
  });
}

export function startEvaluate() {
  onJudgements(ready);
  startDrop();
  byId("judged-file").addEventListener("change", () => {
    dropped = [];
    pick("use-file");
  });
  for (const name of ["use-marks", "use-file"]) byId(name).addEventListener("change", () => pick(name));
  byId("evaluate").addEventListener("submit", (/** @type {Event} */ event) => void run(event));
  byId("evaluate-save").addEventListener("click", () => void save());
  ready();
}
