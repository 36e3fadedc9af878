/** The marks, and the weights that are learnt from them. */

import * as api from "./api.js";
import { go } from "./address.js";
import { ask } from "./dialogs.js";
import { byId, counted, element, quiet } from "./element.js";
import { showLearnt } from "./learnt.js";
import { allMarks, forget, judgements, onMarks } from "./marks.js";
import { say, tell } from "./notice.js";
import { use } from "./versions.js";

/** Queries: one to learn from, and one to check on. */
const LEAST = 2;

function show() {
  const marks = Object.entries(allMarks());
  const documents = marks.reduce((total, [, own]) => total + Object.keys(own).length, 0);
  const usable = judgements().length;
  byId("mark-count").hidden = documents === 0;
  byId("mark-count").textContent = String(documents);
  byId("learn-lead").textContent = documents
    ? `You marked ${counted(documents, "document")} for ${counted(marks.length, "query")}.` +
      (usable < LEAST ? ` Learning takes relevant documents of at least ${LEAST} queries; so far ${usable}.` : "")
    : "Mark results as relevant or not relevant for a few queries; " +
      "then weights can be learnt that rank the relevant ones higher.";
  byId("learn-actions").hidden = documents === 0;
  byId("learn").disabled = usable < LEAST;
  byId("marks").replaceChildren(...marks.map(([query, own]) => item(query, own)));
}

/** @param {string} query @param {Record<string, boolean>} own */
function item(query, own) {
  const ids = Object.keys(own);
  const name = `Forget the marks for ${query}`;
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
    element("button", { type: "button", ariaLabel: name, onclick: () => forget(query) }, "Forget"),
  );
}

async function learn() {
  const button = byId("learn");
  const section = byId("learnt");
  button.disabled = true;
  button.ariaBusy = "true";
  section.hidden = true;
  say("Learning; this takes a few seconds for each marked query at most.", "/learn");
  try {
    const learnt = await api.learn(judgements());
    showLearnt(section, learnt, {
      onUse: async () => {
        if (!(await use(learnt.version))) return;
        section.hidden = true;
        go({ view: "search" }); // whose results are those of the new weights
        byId("content").focus({ preventScroll: true });
      },
      onDiscard: async () => {
        try {
          await api.drop(learnt.version);
        } catch (error) {
          return tell(error);
        }
        section.hidden = true;
        say(`Version ${learnt.version} is forgotten; the weights in use are as they were.`);
        button.focus();
      },
    });
    section.hidden = false;
    section.focus();
  } catch (error) {
    tell(error);
  } finally {
    button.ariaBusy = "false";
    button.disabled = judgements().length < LEAST;
  }
}

async function forgetAll() {
  const count = Object.keys(allMarks()).length;
  const what = `The marks for ${counted(count, "query")} are removed from this browser. Weights stay as they are.`;
  if (await ask("Forget all marks?", "Forget them", element("p", {}, what))) forget();
}

export function startLearn() {
  onMarks(show);
  byId("learn").addEventListener("click", () => void learn());
  byId("forget").addEventListener("click", () => void forgetAll());
  show();
}
