/** What is said while the server learns: for how long, and what it is doing; and why it failed. */

import * as api from "./api.js";
import { byId, counted } from "./element.js";

/** Milliseconds between two looks at what the server is doing. */
const LOOK = 1000;

/** The steps of learning, as the server calls them. @type {Record<string, string>} */
const STEPS = {
  "computing minima": "Searching for each judged query",
  "fitting weights": "Fitting weights to some of the queries, and measuring them on the others",
  "comparing with the weights in use": "Searching again, with new weights and with those in use",
};

/**
 * Follow learning until it ends.
 *
 * @param {number} queries number of queries that are learnt from
 * @returns {(error: unknown) => void} to be called at its end, with what went wrong or null
 */
export function follow(queries) {
  const line = byId("learning");
  const step = byId("learning-step");
  const began = performance.now();
  trouble(null);
  line.textContent = `Learning from ${counted(queries, "judged query")}…`; // announced once; the rest is not
  const look = async () => {
    const seconds = Math.floor((performance.now() - began) / 1000);
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const { running } = await api.learning().catch(() => ({ running: null }));
    if (timer === 0) return;
    const what = running && (STEPS[running.doing] ?? "Working");
    step.textContent = running ? `${time} · ${what}: ${running.done} of ${running.of}` : time;
  };
  let timer = setInterval(look, LOOK);
  step.textContent = "0:00";
  return (error) => {
    clearInterval(timer);
    timer = 0;
    step.textContent = "";
    trouble(error);
  };
}

/** Say what went wrong, where people look while they learn. @param {unknown} error null if nothing did */
export function trouble(error) {
  const line = byId("learning");
  line.textContent = error === null ? "" : error instanceof Error ? error.message : String(error);
  line.classList.toggle("wrong", error !== null);
}
