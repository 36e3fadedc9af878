/** The search view: runs a query and keeps tokens, sliders and results in sync. */

import { go, here } from "./address.js";
import * as api from "./api.js";
import { byId, element } from "./element.js";
import { allJudgements, onJudgements } from "./judgements.js";
import { isMixChanged, showMix, updateMix } from "./mix.js";
import { clearNotice, say, tell } from "./notice.js";
import { showQuery, updateQuery } from "./query.js";
import { place, showResults, startResults, updateJudged, updateResults } from "./results.js";
import { saveWeights } from "./save.js";
import { showSliders, updateSliders } from "./sliders.js";
import { wordsOf } from "./words.js";

/** @typedef {import("./types.js").State} State */

/** Documents to fetch per ranking: more than are shown, so that sliders can move others up. */
const FETCHED = 20;

/** @type {State | null} */
let state = null;
/** The search that is shown or running. @type {string | null} */
let asked = null;
/** @type {AbortController | null} */
let running = null;

/**
 * Run the search in the address, unless it is already shown.
 *
 * @param {{again?: boolean}} [options]
 */
export async function search({ again = false } = {}) {
  const { q, weights } = here();
  byId("q").value = q;
  byId("weighting").value = weights;
  document.title = q ? `${q} · chamfer` : "chamfer";
  const key = JSON.stringify([q, weights]);
  if (key === asked && !again) return;
  asked = key;
  running?.abort();
  running = null;
  if (!q) {
    state = null;
    byId("view-search").ariaBusy = "false";
    show();
    return;
  }
  const own = (running = new AbortController());
  byId("view-search").ariaBusy = "true";
  try {
    const answer = await api.explain({ query: q, k: FETCHED, weights }, own.signal);
    state = {
      answer,
      words: wordsOf(answer.tokens),
      weights: answer.tokens.map((token) => token.weight),
      mix: answer.mix,
      servedMix: answer.mix,
      active: null,
      expanded: new Set(),
      opened: new Set(),
    };
    show();
  } catch (error) {
    if (own === running) {
      asked = null; // so that the same query can be tried again
      state = null; // the results of another query are no answer to this one
      show();
    }
    tell(error);
  } finally {
    if (own === running) byId("view-search").ariaBusy = "false";
  }
}

/** Fetch the documents for the mix that is chosen now. The weights that were changed here stay. */
async function remix() {
  const now = state;
  if (now === null) return;
  running?.abort();
  const own = (running = new AbortController());
  byId("view-search").ariaBusy = "true";
  try {
    const { q, weights } = here();
    const answer = await api.explain({ query: q, k: FETCHED, weights, mix: now.mix }, own.signal);
    if (answer.weights !== now.answer.weights) return void search({ again: true }); // somebody switched versions
    now.answer = answer;
    showResults(now);
    tellOf(now);
  } catch (error) {
    tell(error);
  } finally {
    if (own === running) byId("view-search").ariaBusy = "false";
  }
}

function show() {
  byId("empty").hidden = state !== null;
  byId("answer").hidden = state === null;
  byId("search-title").className = state === null ? "hero" : "unseen";
  if (state === null) return examples();
  const now = state;
  if (now.answer.weights !== null)
    byId("weighting").options[0].textContent = `current weights, version ${now.answer.weights}`;
  showQuery(now, (active) => {
    now.active = active;
    updateQuery(now);
    updateResults(now);
  });
  showSliders(now, redraw);
  showMix(now, redraw, () => void remix());
  showResults(now);
  tellOf(now);
}

/** Say what is odd about the answer. @param {State} now */
function tellOf(now) {
  if (now.answer.partial)
    say(`Results are incomplete: no answer from ${now.answer.missing_shards.join(", ")}.`, "/explain");
  else if (now.answer.documents.length === 0) say("No documents found.", "/explain");
  else if (now.answer.query_was_truncated) say("The query was truncated: it is longer than the model can read.", "/explain");
}

/** Draw at most once per frame while a slider moves. */
let drawing = 0;
function redraw() {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => {
    if (state === null) return;
    updateSliders(state);
    updateMix(state);
    updateQuery(state);
    place(state);
    updateResults(state);
  });
}

/** Suggest queries that were judged before; the page knows no others. */
function examples() {
  const queries = Object.keys(allJudgements()).slice(-3).reverse();
  byId("examples").hidden = queries.length === 0;
  const links = queries.map((q) => element("a", { href: `/?${new URLSearchParams({ q })}`, "data-query": q }, q));
  byId("examples").replaceChildren("Previously judged: ", ...links.flatMap((link, n) => (n ? [", ", link] : [link])));
}

export function startSearch() {
  startResults();
  onJudgements(() => {
    updateJudged();
    if (state === null) examples();
  });
  byId("search").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    clearNotice();
    const q = byId("q").value.trim();
    // Submitting the same query again reruns it: something may have changed on the server.
    if (q && q === here().q) void search({ again: true });
    else go({ q, view: "search" });
  });
  byId("weighting").addEventListener("change", () => go({ weights: byId("weighting").value }));
  byId("reset").addEventListener("click", () => {
    if (state === null) return;
    state.weights = state.answer.tokens.map((token) => token.weight);
    const refetch = isMixChanged(state);
    state.mix = state.servedMix;
    redraw();
    if (refetch) void remix();
  });
  byId("save").addEventListener("click", () => state && void saveWeights(state));
  byId("sliders").open = matchMedia("(min-width: 60rem)").matches;
  examples();
}
