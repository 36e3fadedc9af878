/** Questions that stop the page until they are answered. */

import { byId } from "./element.js";

/**
 * @param {HTMLDialogElement} dialog
 * @returns {Promise<boolean>} whether it was answered with yes
 */
function answered(dialog) {
  dialog.returnValue = "no"; // what Escape leaves
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }),
  );
}

/** @type {Promise<string | null> | null} */
let asking = null;

/**
 * Ask for the API key. Requests that fail together ask once.
 *
 * @returns {Promise<string | null>} null if the reader would rather not
 */
export function askForKey() {
  asking ??= answered(byId("key-dialog")).then((yes) => {
    const typed = byId("key").value.trim();
    byId("key").value = "";
    asking = null;
    return yes && typed ? typed : null;
  });
  return asking;
}

/**
 * Say what will happen and ask whether it shall.
 *
 * @param {string} title
 * @param {string} action what the button says
 * @param {...Node} body
 */
export function ask(title, action, ...body) {
  byId("question-title").textContent = title;
  byId("question-yes").textContent = action;
  byId("question-body").replaceChildren(...body);
  return answered(byId("question"));
}
