/** The state in the address bar, so that links and the back button bring back what was seen. */

/** @typedef {"search" | "weights" | "learn" | "evaluate"} View */
/**
 * `weights` are those to rank with: `current`, a name, or the number of a version; `where` are filters that all must hold,
 * `changed` the weights that were changed by hand, by token, `mix` the mix if it was changed, and `shown` the number of
 * results in a column.
 *
 * @typedef {{q: string, view: View, weights: string, where: string[],
 *   changed: Record<string, number>, mix: import("./types.js").Mix | null, shown: number}} Place
 */

/** Results in a column, and how many more "load more" loads. */
export const PAGE = 10;

export const VIEWS = /** @type {const} */ (["search", "weights", "learn", "evaluate"]);
/** Weights to rank the right column with, by name; uniform ones rank the left one. */
export const WEIGHTINGS = /** @type {const} */ (["current", "mix", "idf-soft", "idf"]);

/** What belongs to one query, and goes when another one is asked. */
export const UNCHANGED = { changed: {}, mix: null, shown: PAGE };

/** @returns {Place} */
export const here = () => placeOf(location.search);

/** What the query string of an address stands for. @param {string} search @returns {Place} */
export function placeOf(search) {
  const asked = new URLSearchParams(search);
  return {
    q: (asked.get("q") ?? "").trim(),
    view: VIEWS.find((name) => name === asked.get("view")) ?? "search",
    weights: weightsIn(asked.get("weights") ?? ""),
    where: asked.getAll("where").filter(Boolean),
    changed: Object.fromEntries(asked.getAll("weight").flatMap(changedWeight)),
    mix: mixIn(asked.get("mix")),
    shown: Math.min(100, Math.max(PAGE, Number(asked.get("shown")) || 0)),
  };
}

/** @param {string} text */
const weightsIn = (text) => (/^[1-9]\d{0,8}$/.test(text) ? text : (WEIGHTINGS.find((name) => name === text) ?? "current"));

/** @param {string} text such as `hip:2.5`; a token may have a colon itself @returns {[string, number][]} */
function changedWeight(text) {
  const at = text.lastIndexOf(":");
  const weight = Number(text.slice(at + 1));
  return at > 0 && weight >= 0 && Number.isFinite(weight) ? [[text.slice(0, at), weight]] : [];
}

/** @param {string | null} text such as `0.012,0.4` @returns {import("./types.js").Mix | null} */
function mixIn(text) {
  const [lexical, pooled, ...others] = (text ?? "").split(",").map(Number);
  return lexical >= 0 && lexical <= 100 && pooled >= 0 && pooled <= 100 && !others.length ? { lexical, pooled } : null;
}

/** @param {Place} place */
export function addressOf({ q, view, weights, where, changed, mix, shown }) {
  const asked = new URLSearchParams();
  if (q) asked.set("q", q);
  for (const one of where) asked.append("where", one);
  if (weights !== "current") asked.set("weights", weights);
  for (const [token, weight] of Object.entries(changed)) asked.append("weight", `${token}:${short(weight)}`);
  if (mix) asked.set("mix", `${short(mix.lexical)},${short(mix.pooled)}`);
  if (shown !== PAGE) asked.set("shown", String(shown));
  if (view !== "search") asked.set("view", view);
  return asked.size ? `/?${asked}` : "/";
}

/** @param {number} value */
const short = (value) => String(Number(value.toPrecision(6)));

/** @param {Partial<Place>} changes parts to change */
export function go(changes) {
  const next = addressOf({ ...here(), ...changes });
  if (next !== location.pathname + location.search) {
    history.pushState(null, "", next);
    scrollTo(0, 0); // a new page starts at its top; on the way back the browser restores the position
  }
  dispatchEvent(new PopStateEvent("popstate"));
}

/**
 * Write what was changed into the address, without a new entry in the history and without a new search.
 *
 * @param {Partial<Place>} changes
 */
export function note(changes) {
  const next = addressOf({ ...here(), ...changes });
  if (next !== location.pathname + location.search) history.replaceState(null, "", next);
}
