/** Making a new version of the weights: asks first, because everybody who searches the index gets it. */

import * as api from "./api.js";
import { ask } from "./dialogs.js";
import { element, quiet } from "./element.js";
import { say, tell } from "./notice.js";

/** @typedef {Parameters<typeof api.change>[0]} Change */

/** Announce that the weights in use changed; views that depend on them listen for `chamfer:weights`. */
export const announce = () => void dispatchEvent(new Event("chamfer:weights"));

/** What a dialog lists: a name, and what it becomes. @param {Node | string} name @param {string} what */
export const changeRow = (name, what) => element("li", {}, element("span", {}, name), element("span", { className: "number" }, what));

/**
 * Make a version and use it, once the user confirms.
 *
 * @param {string} question title of the dialog
 * @param {Node[]} rows what changes; see changeRow
 * @param {string} rest what does not change
 * @param {() => Change} change is asked for once the user has confirmed
 * @param {() => void} [onMade] called before the new version is announced
 */
export async function makeVersion(question, rows, rest, change, onMade = () => {}) {
  const yes = await ask(
    question,
    "Save",
    element("p", {}, "This creates a new version and uses it right away, for everyone who searches this index:"),
    element("ul", { className: "changes" }, ...rows),
    quiet(`${rest} You can go back to an earlier version under Weights.`.trim()),
  );
  if (!yes) return;
  try {
    const { version } = await api.change(change());
    onMade();
    announce();
    say(`Version ${version} of the weights is now in use.`);
  } catch (error) {
    tell(error);
  }
}
