/** The versions of the weights, and which one is in use. */

import * as api from "./api.js";
import { changeList } from "./changes.js";
import { differences } from "./differences.js";
import { byId, counted, element, quiet, sentence, unseen } from "./element.js";
import { COMPUTED, versionName } from "./naming.js";
import { announce, changeRow, makeVersion } from "./newversion.js";
import { say, tell } from "./notice.js";

/** @typedef {import("./types.js").WeightsResponse} WeightsResponse */
/** @typedef {import("./types.js").Version} Version */

/** Versions to show at first. */
const SHOWN = 8;

/** @param {string} made in UTC */
function when(made) {
  const time = new Date(/(Z|[+-]\d\d:?\d\d)$/.test(made) ? made : `${made.replace(" ", "T")}Z`);
  if (Number.isNaN(time.getTime())) return made;
  return time.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** What made a version. @param {Version} version */
function madeBy({ origin, edited_from, learnt_from }) {
  const judged = learnt_from === null ? "judged queries" : counted(learnt_from, "judged query");
  if (origin === "learnt") return `Learnt from ${judged}`;
  if (origin === "computed") return "Computed from the index";
  if (origin === "given") return "From a file";
  if (edited_from === null) return "Changed by hand";
  return `${typeof edited_from === "number" ? `Version ${edited_from}` : versionName(edited_from)}, changed by hand`;
}

/** Names that the server gives; they say no more than what made the version. */
const USUAL = /^(learnt from \d+ queries|version \d+, edited|(mix|idf-soft|idf|uniform), edited|uploaded file)$/;

/** What was found when a version was learnt here. */
const VERDICTS = {
  better: "Better than the weights it was compared with",
  "not better": "Not better than the weights it was compared with",
  worse: "Worse than the weights it was compared with",
  "not compared": "Not compared with other weights",
};

/** @param {Version} version @param {Version | undefined} base the version before it */
function differsInWords({ difference, mix }, base) {
  if (difference === null || base === undefined) return [];
  const told = differences(difference, base.mix, mix);
  return [quiet(told ? `Compared with version ${base.version}, ${told}.` : `The same as version ${base.version}.`)];
}

/** What is shown, so that the same answer again neither closes what was opened nor replaces what is being clicked. */
let current = "";

/** @param {WeightsResponse} answer */
function show({ version, versions }) {
  const asked = JSON.stringify([version, versions]);
  if (asked === current) return;
  current = asked;
  const items = versions.map((own, n) => {
    const used = own.version === version;
    const listen = { ariaLabel: `Use version ${own.version}`, onclick: () => void use(own.version) };
    const made = madeBy(own);
    const name = USUAL.test(own.name) ? made : versionName(own.name);
    const about = [name !== made && made, own.verdict && VERDICTS[own.verdict], when(own.made)].filter(Boolean);
    return element(
      "li",
      { className: used ? "version used" : "version", ariaCurrent: used ? "true" : null, tabIndex: -1 },
      element("span", { className: "rank" }, String(own.version)),
      element(
        "div",
        {},
        element("strong", {}, name),
        quiet(about.join(" · ")),
        ...differsInWords(own, versions[n + 1]),
        used ? null : comparison(own.version),
      ),
      used
        ? element("span", { className: "in-use" }, "in use")
        : element("button", { type: "button", ...listen }, "Use"),
    );
  });
  const shown = items.slice(0, SHOWN);
  byId("versions").replaceChildren(...shown);
  byId("more-versions").hidden = items.length <= SHOWN;
  byId("more-versions").textContent = `Show all ${items.length} versions`;
  byId("more-versions").onclick = () => {
    byId("versions").replaceChildren(...items);
    byId("more-versions").hidden = true;
    items[SHOWN].focus();
  };
}

/** The largest changes between the version in use and another one, fetched when they are opened. @param {number} version */
function comparison(version) {
  const body = element("div", {});
  const summary = element("summary", {}, "Compare with the one in use", unseen(`: version ${version}`));
  const details = /** @type {HTMLDetailsElement} */ (element("details", { className: "change-details" }, summary, body));
  details.addEventListener("toggle", async () => {
    if (!details.open || body.hasChildNodes()) return;
    try {
      const answer = await api.changes(version);
      const told = differences(answer, answer.base_mix, answer.mix);
      const largest = changeList(answer.largest);
      body.replaceChildren(quiet(told ? sentence(told) : "They are the same."), ...largest);
    } catch (error) {
      details.open = false;
      tell(error);
    }
  });
  return details;
}

export async function loadVersions() {
  try {
    show(await api.versions());
  } catch (error) {
    tell(error);
  }
}

/** @param {number} version */
export async function use(version) {
  try {
    show(await api.use(version));
    announce();
    say(`Version ${version} of the weights is now in use.`);
    return true;
  } catch (error) {
    tell(error);
    return false;
  }
}

/** @param {keyof typeof COMPUTED} weights */
function make(weights) {
  const { name, about } = COMPUTED[weights];
  return makeVersion("Use these weights?", [changeRow(name, about)], "", () => ({ weights }));
}

export function startVersions() {
  byId("new-version").replaceChildren(
    ...Object.entries(COMPUTED).map(([weights, { name }]) =>
      element("button", { type: "button", onclick: () => void make(/** @type {keyof typeof COMPUTED} */ (weights)) }, name),
    ),
  );
}
