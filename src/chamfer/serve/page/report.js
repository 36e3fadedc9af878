/** A report: one file with an evaluation in it, which needs no server. */

import { element } from "./element.js";
import { drawn } from "./evaluation.js";

/** @type {import("./evaluation.js").Evaluation} */
const evaluation = JSON.parse(document.getElementById("evaluation")?.textContent ?? "null");
document.title = `Evaluation of ${evaluation.dataset}`;
document.getElementById("report")?.replaceChildren(element("h1", {}, document.title), element("div", {}, ...drawn(evaluation)));
