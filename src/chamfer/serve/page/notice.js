/** The status line at the top of the page, announced by screen readers. */

import { byId } from "./element.js";

/** A failed request, described in one sentence. */
export class Failure extends Error {
  /** @param {string} message @param {string} about path of the request */
  constructor(message, about) {
    super(message);
    this.about = about;
  }
}

/** The path that the notice is about; the notice is cleared when that path answers. @type {string | null} */
let subject = null;

/**
 * @param {string} sentence
 * @param {string | null} [about] path that it is about; without one it stays until the user's next action
 */
export function say(sentence, about = null) {
  show(sentence, about, false);
}

/**
 * Show an error, unless it comes from a request that the page itself cancelled.
 *
 * @param {unknown} error
 */
export function tell(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  show(error instanceof Error ? error.message : String(error), error instanceof Failure ? error.about : null, true);
}

/** @param {string} about path that has answered */
export function settle(about) {
  if (subject === about) clearNotice();
}

export function clearNotice() {
  show("", null, false);
}

/** @param {string} sentence @param {string | null} about @param {boolean} wrong */
function show(sentence, about, wrong) {
  subject = about;
  const notice = byId("notice");
  notice.classList.toggle("wrong", wrong);
  notice.textContent = sentence;
}
