/** Moved weights become a new version on the server, once the reader knows what that does. */

import { addressOf, here } from "./address.js";
import * as api from "./api.js";
import { ask } from "./dialogs.js";
import { decimal, element, quiet } from "./element.js";
import { say, tell } from "./notice.js";
import { movedWeights } from "./sliders.js";
import { announce } from "./versions.js";

/** @param {import("./types.js").State} state */
export async function keep({ answer, weights }) {
  const moves = movedWeights({ answer, weights });
  const inTable = new Map(answer.tokens.map((token) => [token.token, token.in_table]));
  // What is shown may hold the context of this sentence; the table is moved in the same proportion.
  const tokens = Object.fromEntries(
    Object.entries(moves).map(([token, { before, after }]) => [
      token,
      before > 0 ? ((inTable.get(token) ?? before) * after) / before : after,
    ]),
  );
  const list = Object.entries(moves).map(([token, { before, after }]) => {
    const shown = element("span", { className: "number" }, `${decimal(before, 2)} → ${decimal(after, 2)}`);
    return element("li", {}, element("code", {}, token), shown);
  });
  const yes = await ask(
    "Keep these weights?",
    "Keep them",
    element("p", {}, "A new version of the weights is made and used at once, for everyone who searches this index:"),
    element("ul", { className: "changes" }, ...list),
    quiet("All other tokens stay as they are. The version before can be used again under Weights."),
  );
  if (!yes) return;
  try {
    const { version } = await api.change({ tokens, base: here().weights });
    history.replaceState(null, "", addressOf({ ...here(), weights: "current" }));
    announce();
    say(`Version ${version} of the weights is in use.`);
  } catch (error) {
    tell(error);
  }
}
