/** The learn view: how far marking has come, the weights learnt from marks, and the marks. */

import * as api from "./api.js";
import { go, here } from "./address.js";
import { byId, counted, measure, sentence } from "./element.js";
import { asRequested, onJudgements } from "./judgements.js";
import { follow, trouble } from "./learning.js";
import { showLearnt } from "./learnt.js";
import { showMarks, startMarks } from "./marklist.js";
import { say, settle, tell } from "./notice.js";
import { use } from "./versions.js";

/** @typedef {import("./types.js").Judgement} Judgement */
/** @typedef {import("./types.js").CheckResponse} CheckResponse */

/** Milliseconds to wait for the next mark before asking the server what can be learnt from them. */
const MARKING = 300;

/** What learning needs on this server. @type {import("./types.js").LearningResponse | null} */
let needs = null;
/** What can be learnt from each query. @type {Map<string, CheckResponse["queries"][number]>} */
let checked = new Map();
let isLearning = false;

/** What is learnt from: queries that the server found nothing against, without documents that are gone. */
function usable() {
  return asRequested().flatMap((one) => {
    const found = checked.get(one.query);
    if (one.relevant.length === 0 || found?.problem) return [];
    const known = (/** @type {string} */ id) => !found?.unknown.includes(id);
    return [{ query: one.query, relevant: one.relevant.filter(known), not_relevant: one.not_relevant.filter(known) }];
  });
}

/** @param {boolean} shown whether the view is visible */
export function showLearn(shown) {
  if (!shown || isLearning) return;
  trouble(null);
  void check();
}

/** Ask the server what learning needs, and what can be learnt from the marks. */
async function check() {
  try {
    needs = await api.learning();
    const asked = asRequested().slice(-needs.most);
    if (needs.refusal === null && asked.length) {
      const { queries } = await api.check(asked);
      checked = new Map(queries.map((one) => [one.query, one]));
    }
  } catch (error) {
    trouble(error);
  }
  show();
}

function show() {
  const judged = asRequested();
  const documents = judged.reduce((total, { relevant, not_relevant }) => total + relevant.length + not_relevant.length, 0);
  const count = usable().length;
  const least = needs?.least ?? Infinity;
  byId("judgement-count").hidden = documents === 0;
  byId("judgement-count").textContent = String(documents);
  byId("learn-lead").textContent = lead(documents);
  byId("marking").hidden = needs === null || needs.refusal !== null || documents === 0;
  byId("learn-actions").hidden = documents === 0 || needs?.refusal !== null;
  byId("learn").disabled = isLearning || count < least;
  byId("learn").className = byId("learnt").hidden ? "primary" : "";
  byId("learn").textContent = byId("learnt").hidden ? "Learn weights" : "Learn again";
  if (needs !== null) showProgress(count, needs);
  showMarks(checked);
}

/** @param {number} documents */
function lead(documents) {
  if (needs?.refusal) return sentence(needs.refusal);
  if (documents) return "Mark results of more queries under Search, then learn weights that rank what is relevant higher.";
  return (
    "Mark results as relevant or not relevant for a few queries under Search, " +
    "then learn weights that rank the relevant ones higher."
  );
}

/** @param {number} count @param {import("./types.js").LearningResponse} needs */
function showProgress(count, { least, usually_needed, most }) {
  const missing = least - count;
  const rest = missing > 0 ? `${missing} more until weights can be learnt` : "you can learn weights now, but gains are usually small this early";
  byId("marking-text").textContent =
    count < usually_needed
      ? `${count} of about ${counted(usually_needed, "judged query")}; ${rest}.`
      : `${counted(count, "judged query")}; about ${usually_needed} are usually enough.` +
        (count > most ? ` Only the last ${counted(most, "query")} are learnt from.` : "");
  const bar = byId("marking-bar");
  bar.ariaValueMin = "0";
  bar.ariaValueMax = String(usually_needed);
  bar.ariaValueNow = String(Math.min(count, usually_needed));
  bar.ariaValueText = byId("marking-text").textContent;
  measure(bar, { done: Math.min(1, count / usually_needed), least: least / usually_needed });
}

async function learn() {
  const section = byId("learnt");
  const judgements = usable().slice(-(needs?.most ?? Infinity));
  isLearning = true;
  section.hidden = true;
  show();
  const stop = follow(judgements.length);
  try {
    const learnt = await api.learn(judgements);
    stop(null);
    showLearnt(section, learnt, {
      onUse: async () => {
        if (!(await use(learnt.version))) return;
        go({ view: "search" }); // which shows the results with the new weights
        byId("content").focus({ preventScroll: true });
      },
      onKeep: () => {
        go({ view: "search" });
        byId("q").focus();
      },
      onDiscard: async () => {
        try {
          await api.drop(learnt.version);
        } catch (error) {
          return tell(error);
        }
        section.hidden = true;
        show();
        say(`Discarded version ${learnt.version}; the weights in use did not change.`);
        byId("learn").focus();
      },
    });
    section.hidden = false;
  } catch (error) {
    settle("/learn"); // what was said while it waited
    stop(error);
    void check(); // the index may have changed
  }
  isLearning = false;
  show();
  if (!section.hidden) section.focus();
}

export function startLearn() {
  let marking = 0;
  onJudgements(() => {
    show();
    clearTimeout(marking);
    marking = setTimeout(() => showLearn(here().view === "learn"), MARKING);
  });
  // Figures against weights that are no longer in use would mislead.
  addEventListener("chamfer:weights", () => {
    byId("learnt").hidden = true;
    show();
  });
  byId("learn").addEventListener("click", () => void learn());
  startMarks();
  show();
}
