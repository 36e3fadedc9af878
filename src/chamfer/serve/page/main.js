/** Starts the page and shows the view named in the address. */

import { VIEWS, addressOf, go, here, placeOf } from "./address.js";
import * as api from "./api.js";
import { byId, counted, sentence } from "./element.js";
import { showEvaluate, startEvaluate } from "./evaluate.js";
import { judgementsFor } from "./judgements.js";
import { showLearn, startLearn } from "./learn.js";
import { clearNotice, say, tell } from "./notice.js";
import { search, startSearch } from "./search.js";
import { startTheme } from "./theme.js";
import { showWeights, startWeights } from "./weights.js";

function show() {
  const { view } = here();
  for (const name of VIEWS) byId(`view-${name}`).hidden = name !== view;
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("nav [data-view]"))) {
    const name = /** @type {import("./address.js").View} */ (link.dataset.view);
    link.ariaCurrent = name === view ? "page" : null;
    link.setAttribute("href", addressOf({ ...here(), view: name })); // a link opened in a new tab keeps the query
  }
  void search();
  showWeights(view === "weights");
  showEvaluate(view === "evaluate");
  showLearn(view === "learn");
}

async function showHealth() {
  try {
    const { index, documents, encoder, weights, version, problem } = await api.health();
    judgementsFor(index);
    byId("health").textContent =
      `${counted(documents, "document")} · ${encoder} · weights version ${weights} · chamfer ${version}`;
    // Above results, the answer itself says so.
    const { view, q } = here();
    if (problem && !(view === "search" && q)) say(sentence(problem));
  } catch (error) {
    tell(error);
  }
}

// Links within the page switch views without reloading it.
document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin || link.hash) return;
  event.preventDefault();
  clearNotice();
  if (link.dataset.view) go({ view: /** @type {import("./address.js").View} */ (link.dataset.view) });
  else go(placeOf(link.search));
});

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea, dialog");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (here().view !== "search") go({ view: "search" });
  byId("q").focus();
  byId("q").select();
});

addEventListener("popstate", show);
addEventListener("chamfer:weights", () => {
  void search({ again: true });
  showWeights(here().view === "weights");
  showEvaluate(here().view === "evaluate");
  void showHealth();
});

startTheme();
startSearch();
startWeights();
startLearn();
startEvaluate();
show();
void showHealth();
