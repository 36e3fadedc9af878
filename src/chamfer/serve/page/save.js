/** Saving changed weights of the search view, and a changed mix, as a new version. */

import { addressOf, here } from "./address.js";
import { decimal, element } from "./element.js";
import { changeRow, makeVersion } from "./newversion.js";
import { CALLED, EVIDENCE } from "./scores.js";
import { changedWeights } from "./weighing.js";

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
  const rows = Object.entries(changes).map(([token, { before, after }]) =>
    changeRow(element("code", {}, token), `${decimal(before, 2)} → ${decimal(after, 2)}`),
  );
  for (const name of EVIDENCE.filter((each) => mix[each] !== servedMix[each]))
    rows.push(changeRow(CALLED[name], `${decimal(servedMix[name])} → ${decimal(mix[name])}`));
  await makeVersion(
    "Save these weights?",
    rows,
    "All other tokens keep their weights.",
    () => ({ tokens, mix, base: here().weights }),
    // What was changed is what the server has now.
    () => history.replaceState(null, "", addressOf({ ...here(), weights: "current", changed: {}, mix: null })),
  );
}
