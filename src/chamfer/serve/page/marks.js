/** Which documents the reader judged relevant, or not, by query. They stay in this browser. */

/** Where they are kept; the name of the index is added as soon as it is known. */
let key = "chamfer.marks";

/** @typedef {Record<string, Record<string, boolean>>} Marks by query, then by document */
/** @typedef {import("./types.js").Judgement} Judgement */

/** @type {Set<() => void>} */
const listeners = new Set();
/** What is kept where storage is forbidden. @type {string | null} */
let memory = null;

/** Marks belong to an index: another one behind the same address has other documents. @param {string} index */
export function marksFor(index) {
  key = `chamfer.marks.${index}`;
  for (const listener of listeners) listener();
}

/** @returns {Marks} */
export function allMarks() {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? memory ?? "{}");
    return typeof kept === "object" && kept !== null && !Array.isArray(kept) ? kept : {};
  } catch {
    return JSON.parse(memory ?? "{}");
  }
}

/** @param {string} query @returns {Map<string, boolean>} */
export const marksOf = (query) => new Map(Object.entries(new Map(Object.entries(allMarks())).get(query) ?? {}));

/**
 * @param {string} query
 * @param {string} id
 * @param {boolean | null} relevant null takes the mark away
 */
export function mark(query, id, relevant) {
  const marks = new Map(Object.entries(allMarks()));
  const own = new Map(Object.entries(marks.get(query) ?? {}));
  if (relevant === null) own.delete(id);
  else own.set(id, relevant);
  if (own.size) marks.set(query, Object.fromEntries(own));
  else marks.delete(query);
  keep(marks);
}

/** @param {string} [query] all of them if none is given */
export function forget(query) {
  const marks = new Map(Object.entries(allMarks()));
  if (query === undefined) marks.clear();
  else marks.delete(query);
  keep(marks);
}

/** @param {Map<string, Record<string, boolean>>} marks */
function keep(marks) {
  memory = JSON.stringify(Object.fromEntries(marks));
  try {
    localStorage.setItem(key, memory);
  } catch {}
  for (const listener of listeners) listener();
}

/** @param {() => void} listener */
export const onMarks = (listener) => void listeners.add(listener);

/**
 * The marks as the server takes them. A query without a relevant document has nothing to learn from.
 *
 * @returns {Judgement[]}
 */
export function judgements() {
  const of = (/** @type {Record<string, boolean>} */ marks, /** @type {boolean} */ relevant) =>
    Object.keys(marks).filter((id) => marks[id] === relevant);
  return Object.entries(allMarks())
    .map(([query, marks]) => ({ query, relevant: of(marks, true), not_relevant: of(marks, false) }))
    .filter(({ relevant }) => relevant.length > 0);
}

// Another tab's marks are this one's too.
addEventListener("storage", (event) => event.key === key && listeners.forEach((listener) => listener()));
