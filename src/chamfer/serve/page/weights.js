/** The weights view: a table of the heaviest or lightest tokens, and the versions. */

import * as api from "./api.js";
import { byId, decimal, element, measure } from "./element.js";
import { tell } from "./notice.js";
import { loadVersions, startVersions } from "./versions.js";

/** Milliseconds to wait for the next letter before sending a request. */
const TYPING = 150;

let order = "heaviest";
/** @type {AbortController | null} */
let running = null;

async function loadTable() {
  running?.abort();
  const own = (running = new AbortController());
  const contains = byId("contains").value.trim();
  try {
    const { tokens, version } = await api.tokens(contains, order, own.signal);
    const heaviest = Math.max(1e-9, ...tokens.map(({ weight }) => weight));
    byId("table").replaceChildren(
      ...tokens.map(({ token, weight }) => {
        const bar = element("td", { className: "number" }, decimal(weight));
        measure(bar, { length: weight / heaviest });
        return element("tr", {}, element("th", { scope: "row" }, element("code", {}, token)), bar);
      }),
    );
    byId("table-note").textContent = tokens.length ? `Version ${version} of the weights.` : `No token contains “${contains}”.`;
  } catch (error) {
    tell(error);
  }
}

/** @param {boolean} shown whether the view is visible */
export function showWeights(shown) {
  if (shown) void Promise.all([loadTable(), loadVersions()]);
}

export function startWeights() {
  startVersions();
  let typing = 0;
  byId("contains").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(loadTable, TYPING);
  });
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-order]"));
  for (const button of buttons)
    button.addEventListener("click", () => {
      order = button.dataset.order ?? order;
      for (const other of buttons) other.ariaPressed = String(other === button);
      void loadTable();
    });
}
