/** Files that the browser saves. */

import { element } from "./element.js";

/** @param {string} content @param {string} type @param {string} name */
export function download(content, type, name) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = /** @type {HTMLAnchorElement} */ (element("a", { href: address, download: name }));
  link.click();
  URL.revokeObjectURL(address);
}
