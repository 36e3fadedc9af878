/** One sentence at the top of the page, read aloud by screen readers. */

import { byId } from "./element.js";

/** What went wrong with a request to the server, in a sentence. */
export class Failure extends Error {
  /** @param {string} message @param {string} about the path that was asked for */
  constructor(message, about) {
    super(message);
    this.about = about;
  }
}

/** The path that the notice is about: it goes when that path answers, and with nothing else. @type {string | null} */
let subject = null;

/**
 * @param {string} sentence
 * @param {string | null} [about] news about no path stays until the reader does something else
 */
export function say(sentence, about = null) {
  show(sentence, about, false);
}

/**
 * Tell what went wrong. A request that the page itself gave up is no news.
 *
 * @param {unknown} error
 */
export function tell(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  show(error instanceof Error ? error.message : String(error), error instanceof Failure ? error.about : null, true);
}

/** @param {string} about a path that has answered */
export function settle(about) {
  if (subject === about) hush();
}

export function hush() {
  show("", null, false);
}

/** @param {string} sentence @param {string | null} about @param {boolean} wrong */
function show(sentence, about, wrong) {
  subject = about;
  const notice = byId("notice");
  notice.classList.toggle("wrong", wrong);
  notice.textContent = sentence;
}
