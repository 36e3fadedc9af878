/** Lines between the columns, from where a result was to where it is. */

import { byId } from "./element.js";

const SVG = "http://www.w3.org/2000/svg";
/** How far a line reaches into the gap for a result that the other column does not show. */
const STUB = 18;
/** From the top of a card to the middle of its headline; measured, it would cost a layout of every card. */
const HEAD = 21;

/** How far cards reach to the left of their column. */
const OVERHANG = 9.6;

/** @typedef {{id: string, from: HTMLElement | null, to: HTMLElement | null, rises: boolean}} Line */

/**
 * @param {Line[]} lines for each result that moved: its card in the left column, and in the right one, if shown there
 */
export function drawLines(lines) {
  const svg = byId("lines");
  const columns = byId("columns");
  const [left, right] = columns.querySelectorAll(".column");
  if (!(left instanceof HTMLElement) || !(right instanceof HTMLElement)) return;
  const from = left.offsetLeft + left.offsetWidth;
  const to = right.offsetLeft - OVERHANG;
  if (to <= from) return void svg.replaceChildren(); // one column at a time, or another view: nothing to connect
  svg.setAttribute("viewBox", `0 0 ${to - from} ${columns.offsetHeight}`);
  svg.style.setProperty("--left", `${from}px`);
  svg.style.setProperty("--width", `${to - from}px`);
  svg.style.setProperty("--height", `${columns.offsetHeight}px`);
  // Where layout puts a card, not where an animation shows it: lines do not wobble.
  const middle = (/** @type {HTMLElement} */ card) => card.offsetTop + HEAD;
  svg.replaceChildren(...lines.map((line) => drawn(line, middle, to - from)));
}

/** @param {Line} line @param {(card: HTMLElement) => number} middle @param {number} width */
function drawn({ id, from, to, rises }, middle, width) {
  const path = document.createElementNS(SVG, "path");
  const [start, end] = [from && middle(from), to && middle(to)];
  const half = width / 2;
  if (start !== null && end !== null) path.setAttribute("d", `M0 ${start}C${half} ${start} ${half} ${end} ${width} ${end}`);
  else if (start !== null) path.setAttribute("d", `M0 ${start}C${STUB} ${start} ${STUB} ${start} ${STUB} ${start + STUB}`);
  else if (end !== null) path.setAttribute("d", `M${width - STUB} ${end + STUB}C${width - STUB} ${end} ${width - STUB} ${end} ${width} ${end}`);
  path.setAttribute("class", rises ? "rises" : "falls");
  path.dataset.id = id;
  return path;
}

/** Make the line of a result stand out. @param {string} id @param {boolean} on */
export function pointAtLine(id, on) {
  for (const path of byId("lines").children)
    if (path instanceof SVGElement && path.dataset.id === id) path.classList.toggle("twin", on);
}
