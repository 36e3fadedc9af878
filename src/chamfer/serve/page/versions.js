/** The versions of the weights, and which one is in use. */

import * as api from "./api.js";
import { byId, element, quiet } from "./element.js";
import { say, tell } from "./notice.js";

/** @typedef {import("./types.js").WeightsResponse} WeightsResponse */

/** Announce that the weights in use changed; views that depend on them listen for `chamfer:weights`. */
export const announce = () => void dispatchEvent(new Event("chamfer:weights"));

/** @param {string} made in UTC */
function when(made) {
  const time = new Date(/(Z|[+-]\d\d:?\d\d)$/.test(made) ? made : `${made.replace(" ", "T")}Z`);
  if (Number.isNaN(time.getTime())) return made;
  return time.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** @param {WeightsResponse} answer */
function show({ version, versions }) {
  const items = versions.map((own) => {
    const used = own.version === version;
    const listen = { ariaLabel: `Use version ${own.version}`, onclick: () => void use(own.version) };
    const made = [when(own.made), own.recipe].filter(Boolean).join(" · ");
    return element(
      "li",
      { className: used ? "version used" : "version", ariaCurrent: used ? "true" : null },
      element("span", { className: "rank" }, String(own.version)),
      element("div", {}, element("strong", {}, own.name), quiet(made)),
      used
        ? element("span", { className: "in-use" }, "in use")
        : element("button", { type: "button", ...listen }, "Use"),
    );
  });
  byId("versions").replaceChildren(...items);
}

export async function loadVersions() {
  try {
    show(await api.versions());
  } catch (error) {
    tell(error);
  }
}

/** @param {number} version */
export async function use(version) {
  try {
    show(await api.use(version));
    announce();
    say(`Version ${version} of the weights is now in use.`);
    return true;
  } catch (error) {
    tell(error);
    return false;
  }
}

/** @param {string} weights */
async function make(weights) {
  try {
    const answer = await api.change({ weights });
    show(answer);
    announce();
    say(`Created version ${answer.version} of the weights; it is now in use.`);
  } catch (error) {
    tell(error);
  }
}

export function startVersions() {
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-make]")))
    button.addEventListener("click", () => void make(button.dataset.make ?? ""));
}
