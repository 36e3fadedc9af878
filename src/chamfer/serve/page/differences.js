/** How two versions of the weights differ, in words. */

import { counted } from "./element.js";
import { CALLED, EVIDENCE } from "./scores.js";
import { spelledPiece, weighed } from "./naming.js";

/** @typedef {import("./types.js").Mix} Mix */

/**
 * @param {import("./types.js").Difference} difference
 * @param {Mix} before
 * @param {Mix} after
 * @returns {string} in what they differ, without a full stop; empty if in nothing
 */
export function differences({ heavier, lighter, largest, context, adapter }, before, after) {
  const told = [];
  const moved = largest.map((one) => `“${spelledPiece(one)}” ${weighed(one.before)} → ${weighed(one.after)}`);
  const all = heavier + lighter;
  if (all > moved.length) {
    const how = [heavier && `${heavier.toLocaleString("en")} heavier`, lighter && `${lighter.toLocaleString("en")} lighter`];
    told.push(`${counted(all, "token")} changed: ${how.filter(Boolean).join(", ")}; most of all ${moved.slice(0, 2).join(" and ")}`);
  } else if (all) told.push(moved.join(", "));
  const mixed = EVIDENCE.filter((each) => factor(before[each]) !== factor(after[each]));
  if (mixed.length) told.push(`${mixed.map((name) => `${CALLED[name]} ${factor(before[name])} → ${factor(after[name])}`).join(", ")}`);
  if (context || adapter) told.push("a query’s words influence each other in another way");
  return told.join("; ");
}

/** @param {number} value */
const factor = (value) => String(Number(value.toPrecision(2)));
