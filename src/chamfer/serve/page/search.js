/** The search view: a query goes out, and query, sliders and results follow one state. */

import { go, here } from "./address.js";
import * as api from "./api.js";
import { byId, element } from "./element.js";
import { keep } from "./keep.js";
import { allMarks, onMarks } from "./marks.js";
import { hush, say, tell } from "./notice.js";
import { showQuery, updateQuery } from "./query.js";
import { place, showResults, startResults, updateJudged, updateResults } from "./results.js";
import { showSliders, updateSliders } from "./sliders.js";
import { wordsOf } from "./words.js";

/** @typedef {import("./types.js").State} State */

/** So many by each weighting: more than are shown, for the sliders to bring up. */
const FETCHED = 20;

/** @type {State | null} */
let state = null;
/** What is shown, or on its way. @type {string | null} */
let asked = null;
/** @type {AbortController | null} */
let running = null;

/**
 * Search for what the address says, unless that is shown already.
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
      active: null,
      expanded: new Set(),
    };
    show();
  } catch (error) {
    if (own === running) {
      asked = null; // so that the same query can be tried again
      state = null; // what was found for another query is no answer to this one
      show();
    }
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
    byId("weighting").options[0].textContent = `the weights in use, version ${now.answer.weights}`;
  showQuery(now, (active) => {
    now.active = active;
    updateQuery(now);
    updateResults(now);
  });
  showSliders(now, moved);
  showResults(now);
  if (now.answer.partial)
    say(`Documents are missing: ${now.answer.missing_shards.join(", ")} gives no answer.`, "/explain");
  else if (now.answer.documents.length === 0) say("No document was found for this query.", "/explain");
  else if (now.answer.query_was_cut) say("The query is longer than the model reads; its end was left out.", "/explain");
}

/** One frame may see many moves of a slider; it draws the last. */
let drawing = 0;
function moved() {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => {
    if (state === null) return;
    updateSliders(state);
    updateQuery(state);
    place(state);
    updateResults(state);
  });
}

/** Queries that the reader judged before are the only ones the page knows to be worth asking. */
function examples() {
  const queries = Object.keys(allMarks()).slice(-3).reverse();
  byId("examples").hidden = queries.length === 0;
  const links = queries.map((q) => element("a", { href: `/?${new URLSearchParams({ q })}`, "data-query": q }, q));
  byId("examples").replaceChildren("Judged before: ", ...links.flatMap((link, n) => (n ? [", ", link] : [link])));
}

export function startSearch() {
  startResults();
  onMarks(() => {
    updateJudged();
    if (state === null) examples();
  });
  byId("search").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    hush();
    const q = byId("q").value.trim();
    // The same query again is a wish to see what changed on the server.
    if (q && q === here().q) void search({ again: true });
    else go({ q, view: "search" });
  });
  byId("weighting").addEventListener("change", () => go({ weights: byId("weighting").value }));
  byId("reset").addEventListener("click", () => {
    if (state === null) return;
    state.weights = state.answer.tokens.map((token) => token.weight);
    moved();
  });
  byId("keep").addEventListener("click", () => state && void keep(state));
  byId("sliders").open = matchMedia("(min-width: 60rem)").matches;
  examples();
}
