/** Relevance judgements by query, stored in this browser. */

/** Storage key; the name of the index is appended once it is known. */
let key = "chamfer.judgements";

/** @typedef {Record<string, Record<string, boolean>>} Judgements by query, then by document: whether it is relevant */
/** @typedef {import("./types.js").Judgement} Judgement */

/** @type {Set<() => void>} */
const listeners = new Set();
/** A copy, in case the browser blocks storage. @type {string | null} */
let memory = null;

/** Switch to the judgements for an index: this address may serve another one later. @param {string} index */
export function judgementsFor(index) {
  key = `chamfer.judgements.${index}`;
  for (const listener of listeners) listener();
}

/** @returns {Judgements} */
export function allJudgements() {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? memory ?? "{}");
    return typeof stored === "object" && stored !== null && !Array.isArray(stored) ? stored : {};
  } catch {
    return JSON.parse(memory ?? "{}");
  }
}

/** @param {string} query @returns {Map<string, boolean>} */
export const judgementsOf = (query) =>
  new Map(Object.entries(new Map(Object.entries(allJudgements())).get(query) ?? {}));

/**
 * @param {string} query
 * @param {string} id
 * @param {boolean | null} relevant null removes the judgement
 */
export function judge(query, id, relevant) {
  const all = new Map(Object.entries(allJudgements()));
  const own = new Map(Object.entries(all.get(query) ?? {}));
  if (relevant === null) own.delete(id);
  else own.set(id, relevant);
  if (own.size) all.set(query, Object.fromEntries(own));
  else all.delete(query);
  store(all);
}

/** @param {string} [query] query to clear; all if not given */
export function clearJudgements(query) {
  const all = new Map(Object.entries(allJudgements()));
  if (query === undefined) all.clear();
  else all.delete(query);
  store(all);
}

/**
 * Add judgements; they replace those of the same documents.
 *
 * @param {Judgements} judgements
 */
export function addJudgements(judgements) {
  const all = new Map(Object.entries(allJudgements()));
  for (const [query, own] of Object.entries(judgements)) all.set(query, { ...all.get(query), ...own });
  store(all);
}

/**
 * Remove the judgements of some documents of a query.
 *
 * @param {string} query
 * @param {string[]} ids
 */
export function forgetDocuments(query, ids) {
  const all = new Map(Object.entries(allJudgements()));
  const own = Object.entries(all.get(query) ?? {}).filter(([id]) => !ids.includes(id));
  if (own.length) all.set(query, Object.fromEntries(own));
  else all.delete(query);
  store(all);
}

/** @param {Map<string, Record<string, boolean>>} all */
function store(all) {
  memory = JSON.stringify(Object.fromEntries(all));
  try {
    localStorage.setItem(key, memory);
  } catch {}
  for (const listener of listeners) listener();
}

/** @param {() => void} listener */
export const onJudgements = (listener) => void listeners.add(listener);

/**
 * The judgements as the API takes them.
 *
 * @returns {Judgement[]}
 */
export function asRequested() {
  const of = (/** @type {Record<string, boolean>} */ own, /** @type {boolean} */ relevant) =>
    Object.keys(own).filter((id) => own[id] === relevant);
  return Object.entries(allJudgements()).map(([query, own]) => ({
    query,
    relevant: of(own, true),
    not_relevant: of(own, false),
  }));
}

/** Those with a relevant document; the others teach nothing. */
export const learnable = () => asRequested().filter(({ relevant }) => relevant.length > 0);

// Judgements made in another tab show here too.
addEventListener("storage", (event) => event.key === key && listeners.forEach((listener) => listener()));
