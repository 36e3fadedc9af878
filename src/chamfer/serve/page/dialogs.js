/** Modal dialogs. */

import { byId } from "./element.js";

/**
 * @param {HTMLDialogElement} dialog
 * @returns {Promise<boolean>} whether the user confirmed
 */
function confirmed(dialog) {
  dialog.returnValue = "no"; // if the user presses Escape
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }),
  );
}

/** @type {Promise<string | null> | null} */
let asking = null;

/**
 * Ask for the API key. Requests that fail at the same time ask once.
 *
 * @returns {Promise<string | null>} null if the user cancels
 */
export function askForKey() {
  asking ??= confirmed(byId("key-dialog")).then((yes) => {
    const typed = byId("key").value.trim();
    byId("key").value = "";
    asking = null;
    return yes && typed ? typed : null;
  });
  return asking;
}

/**
 * Ask the user to confirm an action.
 *
 * @param {string} title
 * @param {string} action label of the button that confirms
 * @param {...Node} body
 */
export function ask(title, action, ...body) {
  byId("question-title").textContent = title;
  byId("question-yes").textContent = action;
  byId("question-body").replaceChildren(...body);
  return confirmed(byId("question"));
}
