/** The weights that the right column ranks with: those in use, others by name, or an older version that a link names. */

import { WEIGHTINGS } from "./address.js";
import { byId, element } from "./element.js";
import { versionName } from "./naming.js";

/** A version by its number, and weights by their name, as the server takes them. @param {string} weights */
export const numbered = (weights) => (/^\d+$/.test(weights) ? Number(weights) : weights);

/** Whether they are a version that a link names, which cannot be changed before it is in use. @param {string} weights */
export const isVersion = (weights) => typeof numbered(weights) === "number";

/** Show what can be chosen, and what is. @param {string} weights */
export function showWeighting(weights) {
  const select = byId("weighting");
  if (!select.options.length)
    select.append(...WEIGHTINGS.map((name) => element("option", { value: name }, name === "current" ? "current weights" : versionName(name))));
  for (const option of [...select.options].slice(WEIGHTINGS.length)) option.remove();
  if (isVersion(weights)) select.append(element("option", { value: weights }, `version ${weights}`));
  select.value = weights;
}

/** Name the version in use. @param {number} version */
export function nameCurrent(version) {
  byId("weighting").options[0].textContent = `current weights, version ${version}`;
}
