/** The search view: runs a query and keeps words, mix and results in sync. */

import { PAGE, UNCHANGED, addressOf, go, here, note } from "./address.js";
import * as api from "./api.js";
import { byId, element } from "./element.js";
import { filterOf, showFilters, startFilters } from "./filters.js";
import { allJudgements, onJudgements } from "./judgements.js";
import { isMixChanged, showMix, startMix, updateMix } from "./mix.js";
import { clearNotice, say, tell } from "./notice.js";
import { showQuery, startQuery, updateQuery } from "./query.js";
import { focusFirst, place, showResults, startResults, updateJudged, updateResults } from "./results.js";
import { saveWeights } from "./save.js";
import { ranked } from "./scores.js";
import { tellOf } from "./told.js";
import { applyChanged, changedWeights, served } from "./weighing.js";
import { isVersion, nameCurrent, numbered, showWeighting } from "./weighting.js";
import { wordsOf } from "./words.js";

/** @typedef {import("./types.js").State} State */

/** Largest number of documents of each ranking that the server explains. */
const MOST = 100;
/** How many more are fetched than shown, so that changed weights can move others up. */
const SPARE = 10;
/** Milliseconds without a move after which the address is written. */
const REST = 250;
/** Milliseconds after which a server knows what unrelated texts score. */
const LATER = 3000;

/** @type {State | null} */
let state = null;
/** The search that is shown or running. @type {string | null} */
let asked = null;
/** @type {AbortController | null} */
let running = null;
let writing = 0;
/** Whether the server does not say what unrelated texts score, as of a small index. */
let isUnknowable = false;

/**
 * Run the search in the address, unless it is already shown.
 *
 * @param {{again?: boolean}} [options]
 */
export async function search({ again = false } = {}) {
  const { q, weights, where, changed, mix, shown } = here();
  byId("q").value = q;
  showWeighting(weights);
  document.title = q ? `${q} · chamfer` : "chamfer";
  showFilters(where);
  const key = JSON.stringify([q, weights, where]);
  if (key === asked && !again) return;
  clearTimeout(writing);
  asked = key;
  running?.abort();
  running = null;
  if (!q) {
    state = null;
    byId("view-search").ariaBusy = "false";
    return show();
  }
  const found = await fetched(shown);
  if (found === null) return;
  state = {
    ...found,
    words: wordsOf(found.answer.tokens),
    weights: found.answer.tokens.map((token) => token.weight),
    mix: found.answer.mix,
    servedMix: found.answer.mix,
    servedOrder: servedOrder(found.answer, found.answer.mix),
    active: [],
    shown,
    expanded: new Set(),
    opened: new Set(),
  };
  applyChanged(state, changed);
  if (mix) state.mix = mix;
  show();
  void askAgain(state);
  if (mix) await refetch();
}

/**
 * Ask the server for documents, while the page says that it is busy.
 *
 * @param {number} shown number of results that are shown
 * @param {import("./types.js").Mix} [mix]
 * @returns {Promise<Pick<State, "answer" | "seconds"> | null>} null if that failed, or is not wanted any more
 */
async function fetched(shown, mix) {
  running?.abort();
  const own = (running = new AbortController());
  byId("view-search").ariaBusy = "true";
  const started = performance.now();
  const { q, weights, where } = here();
  try {
    const question = { query: q, k: Math.min(MOST, shown + SPARE), weights: numbered(weights), mix, where: filterOf(where) };
    const answer = await api.explain(question, own.signal);
    return { answer, seconds: (performance.now() - started) / 1000 };
  } catch (error) {
    if (own === running && mix === undefined) {
      asked = null; // so that the same query can be tried again
      state = null; // the results of another query are no answer to this one
      show();
    }
    tell(error);
    return null;
  } finally {
    if (own === running) byId("view-search").ariaBusy = "false";
  }
}

/** Fetch the documents for what is chosen now. The weights that were changed here stay. */
async function refetch() {
  const now = state;
  if (now === null) return;
  // With a factor of zero, the server would not say what the evidence is worth, and a handle could not be moved back.
  const factor = (/** @type {number} */ own) => Math.max(own, 1e-9);
  const mix = { lexical: factor(now.mix.lexical), pooled: factor(now.mix.pooled) };
  const found = await fetched(now.shown, mix);
  if (found === null || now !== state) return;
  if (found.answer.weights !== now.answer.weights) return void search({ again: true }); // somebody switched versions
  if (!isMixChanged(now)) {
    found.answer.probably_nothing = now.answer.probably_nothing; // which the server does not know of a mix that it is sent
    now.servedOrder = servedOrder(found.answer, now.servedMix);
  }
  Object.assign(now, found);
  showResults(now);
  tellOf(now, here().where.length > 0);
  updateTools(now);
}

/** @param {import("./types.js").ExplainResponse} answer @param {import("./types.js").Mix} mix */
const servedOrder = (answer, mix) => ranked(answer.documents, served({ answer }), mix).map(({ document: { id } }) => ({ id }));

function show() {
  byId("empty").hidden = state !== null;
  byId("answer").hidden = byId("tools").hidden = state === null;
  byId("search-title").className = state === null ? "hero" : "unseen";
  if (state === null) return void showExamples();
  const now = state;
  if (now.answer.weights !== null && here().weights === "current") nameCurrent(now.answer.weights);
  showQuery(now, {
    onActive: () => {
      updateQuery(now);
      updateResults(now);
    },
    onMove: redraw,
  });
  showMix(now, redraw, () => void refetch());
  showResults(now);
  updateTools(now);
  tellOf(now, here().where.length > 0);
}

/**
 * Ask once more whether there is probably nothing: the first searches of a server do not wait until it knows.
 *
 * @param {State} now
 */
async function askAgain(now) {
  if (now.answer.probably_nothing !== null || now.answer.documents.length === 0 || isUnknowable) return;
  await new Promise((resolve) => setTimeout(resolve, LATER));
  if (now !== state || now.answer.probably_nothing !== null || isMixChanged(now)) return;
  const { weights, where } = here();
  const question = { query: now.answer.query, k: 1, weights: numbered(weights), where: filterOf(where) };
  const answer = await api.explain(question, AbortSignal.timeout(60_000)).catch(() => null);
  if (answer === null || now !== state) return;
  isUnknowable = answer.probably_nothing === null;
  now.answer.probably_nothing = answer.probably_nothing;
  tellOf(now, where.length > 0);
}

/** Redraw what depends on the weights and the mix. */
function redraw() {
  if (state === null) return;
  updateQuery(state);
  updateMix(state);
  place(state);
  updateResults(state);
  updateTools(state);
}

/** @param {State} now */
function updateTools(now) {
  const weights = changedWeights(now);
  const changed = Object.fromEntries(Object.entries(weights).map(([token, { after }]) => [token, after]));
  const mix = isMixChanged(now) ? now.mix : null;
  const isOlder = isVersion(here().weights);
  byId("reset").disabled = !mix && Object.keys(weights).length === 0;
  byId("save").disabled = byId("reset").disabled || isOlder;
  byId("save").title = isOlder ? "Use this version first, under Weights, to save changes of it" : "";
  const found = now.answer.documents.length;
  const inColumn = Math.min(now.shown, found);
  byId("more-line").hidden = found === 0;
  byId("more").hidden = now.shown >= Math.min(found, MOST);
  byId("pool").textContent = `${inColumn} of ${found} loaded · ${Math.round(1000 * now.seconds)} ms`;
  clearTimeout(writing);
  const { q } = here();
  writing = setTimeout(() => here().q === q && note({ changed, mix, shown: now.shown }), REST);
}

/** Queries to try: some that the index suggests, and those that were judged before. */
async function showExamples() {
  const judged = Object.keys(allJudgements()).slice(-3).reverse();
  const list = (/** @type {string} */ id, /** @type {string[]} */ queries) => {
    byId(id).hidden = queries.length === 0;
    const items = queries.map((q) => element("li", {}, element("a", { href: addressOf({ ...here(), ...UNCHANGED, q }) }, q)));
    byId(id).querySelector("ul").replaceChildren(...items);
  };
  list("judged", judged);
  try {
    list("examples", (await api.index()).example_queries);
  } catch (error) {
    tell(error);
  }
}

/** Show ten more results of each ranking. */
async function more() {
  const now = state;
  if (now === null) return;
  const from = now.shown;
  now.shown = Math.min(MOST, now.shown + PAGE);
  await refetch();
  if (now.answer.documents.length <= from) now.shown = from;
}

/** The weights and the mix of the server again. */
function reset() {
  if (state === null) return;
  state.weights = served(state);
  const fetchAgain = isMixChanged(state);
  state.mix = state.servedMix;
  redraw();
  if (fetchAgain) void refetch();
}

async function copyLink() {
  if (state !== null) updateTools(state);
  await new Promise((resolve) => setTimeout(resolve, REST + 20)); // until the address is written
  try {
    await navigator.clipboard.writeText(location.href);
    say("Copied a link to this search, with its filters, weights and mix.");
  } catch {
    say("The browser did not allow copying; the address bar has the link.");
  }
}

export function startSearch() {
  startResults();
  startMix();
  startQuery();
  startFilters((where) => go({ where, view: "search" }));
  onJudgements(() => {
    updateJudged();
    if (state === null && !here().q) void showExamples();
  });
  byId("search").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    clearNotice();
    const q = byId("q").value.trim();
    // Submitting the same query again reruns it: something may have changed on the server.
    if (q && q === here().q) void search({ again: true });
    else go({ ...UNCHANGED, q, view: "search" });
  });
  byId("q").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "ArrowDown" || state === null) return;
    event.preventDefault();
    focusFirst();
  });
  byId("weighting").addEventListener("change", () => go({ ...UNCHANGED, weights: byId("weighting").value }));
  byId("reset").addEventListener("click", reset);
  byId("save").addEventListener("click", () => state && void saveWeights(state));
  byId("link").addEventListener("click", () => void copyLink());
  byId("more").addEventListener("click", () => void more());
}
