/** The state in the address bar: query, weights and view, so that links and the back button work. */

/** @typedef {{q: string, view: "search" | "weights" | "learn", weights: import("./types.js").Weighting}} Place */

/** @returns {Place} */
export function here() {
  const asked = new URLSearchParams(location.search);
  const view = asked.get("view");
  const weights = asked.get("weights");
  return {
    q: (asked.get("q") ?? "").trim(),
    view: view === "weights" || view === "learn" ? view : "search",
    weights: weights === "idf" || weights === "idf-soft" || weights === "mix" ? weights : "current",
  };
}

/** @param {Place} place */
export function addressOf({ q, view, weights }) {
  const asked = new URLSearchParams();
  if (q) asked.set("q", q);
  if (weights !== "current") asked.set("weights", weights);
  if (view !== "search") asked.set("view", view);
  return asked.size ? `/?${asked}` : "/";
}

/** @param {Partial<Place>} changes parts to change */
export function go(changes) {
  const next = addressOf({ ...here(), ...changes });
  if (next !== location.pathname + location.search) {
    history.pushState(null, "", next);
    scrollTo(0, 0); // a new page starts at its top; on the way back the browser restores the position
  }
  dispatchEvent(new PopStateEvent("popstate"));
}
