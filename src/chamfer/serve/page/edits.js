/** Weights that were changed by hand and are not saved yet. */

import { byId, counted } from "./element.js";
import { spelledPiece, weighed } from "./naming.js";
import { changeRow, makeVersion } from "./newversion.js";

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

function save() {
  const rows = [...edits.values()].map(({ token, after }) =>
    changeRow(spelledPiece(token), `${weighed(token.weight)} → ${weighed(after)}`),
  );
  const tokens = () => Object.fromEntries([...edits].map(([token, { after }]) => [token, after]));
  return makeVersion("Save these weights?", rows, "All other tokens keep their weights.", () => ({ tokens: tokens(), base: "current" }));
}

/** @param {() => void} onReset called when all changes were taken back */
export function startEdits(onReset) {
  byId("save-edits").addEventListener("click", () => void save());
  // They were changes to the weights that were in use before.
  addEventListener("chamfer:weights", drop);
  byId("drop-edits").addEventListener("click", () => {
    drop();
    onReset();
  });
}
