/** The learn view: judgements, and the weights learnt from them. */

import * as api from "./api.js";
import { go } from "./address.js";
import { ask } from "./dialogs.js";
import { byId, counted, element, quiet } from "./element.js";
import { allJudgements, clearJudgements, learnable, onJudgements } from "./judgements.js";
import { showLearnt } from "./learnt.js";
import { say, tell } from "./notice.js";
import { use } from "./versions.js";

/** Minimum number of queries: one to learn from, and one to validate on. */
const LEAST = 2;

function show() {
  const judged = Object.entries(allJudgements());
  const documents = judged.reduce((total, [, own]) => total + Object.keys(own).length, 0);
  const usable = learnable().length;
  byId("judgement-count").hidden = documents === 0;
  byId("judgement-count").textContent = String(documents);
  byId("learn-lead").textContent = documents
    ? `You judged ${counted(documents, "document")} for ${counted(judged.length, "query")}.` +
      (usable < LEAST ? ` Learning needs at least ${LEAST} queries with a relevant document; you have ${usable}.` : "")
    : "Mark results as relevant or not relevant for a few queries, " +
      "then learn weights that rank the relevant ones higher.";
  byId("learn-actions").hidden = documents === 0;
  byId("learn").disabled = usable < LEAST;
  byId("judgements").replaceChildren(...judged.map(([query, own]) => item(query, own)));
}

/** @param {string} query @param {Record<string, boolean>} own */
function item(query, own) {
  const ids = Object.keys(own);
  const name = `Clear the judgements for ${query}`;
  const list = (/** @type {boolean} */ relevant) => ids.filter((id) => own[id] === relevant);
  const line = (/** @type {string} */ sign, /** @type {string} */ word, /** @type {string[]} */ found) =>
    found.length ? quiet(`${sign} ${word}: `, element("span", { className: "id" }, found.join(", "))) : null;
  return element(
    "li",
    {},
    element(
      "div",
      {},
      element("a", { href: `/?${new URLSearchParams({ q: query })}`, "data-query": query }, query),
      line("✓", "relevant", list(true)),
      line("✕", "not relevant", list(false)),
    ),
    element("button", { type: "button", ariaLabel: name, onclick: () => clearJudgements(query) }, "Clear"),
  );
}

async function learn() {
  const button = byId("learn");
  const section = byId("learnt");
  button.disabled = true;
  button.ariaBusy = "true";
  section.hidden = true;
  say("Learning… This takes up to a few seconds per query.", "/learn");
  try {
    const learnt = await api.learn(learnable());
    showLearnt(section, learnt, {
      onUse: async () => {
        if (!(await use(learnt.version))) return;
        section.hidden = true;
        go({ view: "search" }); // which shows the results with the new weights
        byId("content").focus({ preventScroll: true });
      },
      onDiscard: async () => {
        try {
          await api.drop(learnt.version);
        } catch (error) {
          return tell(error);
        }
        section.hidden = true;
        say(`Discarded version ${learnt.version}; the weights in use did not change.`);
        button.focus();
      },
    });
    section.hidden = false;
    section.focus();
  } catch (error) {
    tell(error);
  } finally {
    button.ariaBusy = "false";
    button.disabled = learnable().length < LEAST;
  }
}

async function clearAll() {
  const count = Object.keys(allJudgements()).length;
  const what = `This removes the judgements for ${counted(count, "query")} from this browser. Weights do not change.`;
  if (await ask("Clear all judgements?", "Clear all", element("p", {}, what))) clearJudgements();
}

export function startLearn() {
  onJudgements(show);
  byId("learn").addEventListener("click", () => void learn());
  byId("clear").addEventListener("click", () => void clearAll());
  show();
}
