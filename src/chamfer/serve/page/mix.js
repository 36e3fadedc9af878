/** Two sliders: how much keywords and overall meaning count beside the tokens. Shown if the weights have a mix. */

import { byId, decimal, measure } from "./element.js";
import { EVIDENCE } from "./scores.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Mix} Mix */

/** Right ends of the sliders: well beyond the factors that suit most collections. */
const ENDS = { lexical: 0.05, pooled: 1.6 };

/** Largest factor that the server accepts. */
const MOST = 100;

/**
 * @param {State} state
 * @param {() => void} onMove called after `state.mix` changes
 * @param {() => void} onRest called when a slider comes to rest, so that the documents can be fetched for the new mix
 */
export function showMix(state, onMove, onRest) {
  byId("mix").hidden = EVIDENCE.every((name) => state.servedMix[name] === 0);
  for (const name of EVIDENCE) {
    const range = byId(`mix-${name}`);
    const end = Math.min(MOST, Math.max(ENDS[name], 4 * state.servedMix[name]));
    range.max = String(end);
    range.step = String(end / 100);
    range.oninput = () => {
      state.mix = { ...state.mix, [name]: Number(range.value) };
      onMove();
    };
    range.onchange = onRest;
  }
  updateMix(state);
}

/** @param {State} state */
export function updateMix(state) {
  for (const name of EVIDENCE) {
    const range = byId(`mix-${name}`);
    const [factor, served, end] = [state.mix[name], state.servedMix[name], Number(range.max)];
    // Served factors lie between steps, where a slider cannot rest; it then shows the step beside them.
    range.value = String(factor);
    range.setAttribute("aria-valuetext", decimal(factor, 3));
    byId(`mix-${name}-factor`).textContent = decimal(factor, 3);
    const row = range.parentElement;
    measure(row, { fill: Math.min(1, factor / end), served: Math.min(1, served / end) });
    row.classList.toggle("moved", factor !== served);
  }
}

/** @param {Pick<State, "mix" | "servedMix">} state */
export const isMixChanged = ({ mix, servedMix }) => EVIDENCE.some((name) => mix[name] !== servedMix[name]);
