/** Weights that were changed by hand and are not saved yet. */

import * as api from "./api.js";
import { ask } from "./dialogs.js";
import { byId, counted, element, quiet } from "./element.js";
import { spelledPiece, weighed } from "./naming.js";
import { say, tell } from "./notice.js";
import { announce } from "./versions.js";

/** @typedef {import("./types.js").WeightedToken} WeightedToken */

/** By token, as the tokenizer spells it. @type {Map<string, {token: WeightedToken, after: number}>} */
const edits = new Map();

/** The new weight of a token; null if it was not changed. @param {string} token */
export const edited = (token) => edits.get(token)?.after ?? null;

/** @param {WeightedToken} token @param {number} after */
export function edit(token, after) {
  if (after === token.weight) edits.delete(token.token);
  else edits.set(token.token, { token, after });
  show();
}

function show() {
  byId("edits").hidden = edits.size === 0;
  byId("edit-count").textContent = `${counted(edits.size, "weight")} changed, not saved yet`;
}

function drop() {
  edits.clear();
  show();
}

async function save() {
  const list = [...edits.values()].map(({ token, after }) =>
    element(
      "li",
      {},
      element("span", {}, spelledPiece(token)),
      element("span", { className: "number" }, `${weighed(token.weight)} → ${weighed(after)}`),
    ),
  );
  const yes = await ask(
    "Save these weights?",
    "Save",
    element("p", {}, "This creates a new version and uses it right away, for everyone who searches this index:"),
    element("ul", { className: "changes" }, ...list),
    quiet("All other tokens keep their weights. You can go back to an earlier version."),
  );
  if (!yes) return;
  try {
    const tokens = Object.fromEntries([...edits].map(([token, { after }]) => [token, after]));
    const { version } = await api.change({ tokens, base: "current" });
    drop();
    announce();
    say(`Version ${version} of the weights is now in use.`);
  } catch (error) {
    tell(error);
  }
}

/** @param {() => void} onReset called when all changes were taken back */
export function startEdits(onReset) {
  byId("save-edits").addEventListener("click", () => void save());
  byId("drop-edits").addEventListener("click", () => {
    drop();
    onReset();
  });
}
