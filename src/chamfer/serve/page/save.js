/** Saving changed weights, and a changed mix, as a new version, once the user confirms. */

import { addressOf, here } from "./address.js";
import * as api from "./api.js";
import { ask } from "./dialogs.js";
import { decimal, element, quiet } from "./element.js";
import { say, tell } from "./notice.js";
import { CALLED, EVIDENCE } from "./scores.js";
import { changedWeights } from "./weighing.js";
import { announce } from "./versions.js";

/** @param {import("./types.js").State} state */
export async function saveWeights({ answer, weights, mix, servedMix }) {
  const changes = changedWeights({ answer, weights });
  const inTable = new Map(answer.tokens.map((token) => [token.token, token.in_table]));
  // The weights shown may depend on the context of this query: the table's weights change by the same factor.
  const tokens = Object.fromEntries(
    Object.entries(changes).map(([token, { before, after }]) => [
      token,
      before > 0 ? ((inTable.get(token) ?? before) * after) / before : after,
    ]),
  );
  const row = (/** @type {Node | string} */ name, /** @type {string} */ before, /** @type {string} */ after) =>
    element("li", {}, name, element("span", { className: "number" }, `${before} → ${after}`));
  const list = Object.entries(changes).map(([token, { before, after }]) =>
    row(element("code", {}, token), decimal(before, 2), decimal(after, 2)),
  );
  for (const name of EVIDENCE.filter((each) => mix[each] !== servedMix[each]))
    list.push(row(CALLED[name], decimal(servedMix[name]), decimal(mix[name])));
  const yes = await ask(
    "Save these weights?",
    "Save",
    element("p", {}, "This creates a new version and uses it right away, for everyone who searches this index:"),
    element("ul", { className: "changes" }, ...list),
    quiet("All other tokens keep their weights. You can go back to an earlier version under Weights."),
  );
  if (!yes) return;
  try {
    const { version } = await api.change({ tokens, mix, base: here().weights });
    history.replaceState(null, "", addressOf({ ...here(), weights: "current" }));
    announce();
    say(`Version ${version} of the weights is now in use.`);
  } catch (error) {
    tell(error);
  }
}
