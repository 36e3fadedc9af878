/** The server's API as functions. A failed request throws a Failure with one sentence for the user. */

import { askForKey } from "./dialogs.js";
import { counted, sentence } from "./element.js";
import { Failure, say, settle } from "./notice.js";

/** @typedef {import("./types.js").ExplainResponse} ExplainResponse */
/** @typedef {import("./types.js").WeightsResponse} WeightsResponse */
/** @typedef {import("./types.js").TokensResponse} TokensResponse */
/** @typedef {import("./types.js").LearnResponse} LearnResponse */
/** @typedef {import("./types.js").DistributionResponse} DistributionResponse */
/** @typedef {import("./types.js").ChangesResponse} ChangesResponse */
/** @typedef {import("./types.js").LearningResponse} LearningResponse */
/** @typedef {import("./types.js").CheckResponse} CheckResponse */
/** @typedef {import("./types.js").HealthResponse} HealthResponse */

const HEALTH = "/health";
const KEY = "chamfer.key";
/** The API key, stored for this tab, or for this page if the browser blocks storage. */
const storedKey = {
  /** @type {string | null} */
  memory: null,
  get() {
    try {
      return sessionStorage.getItem(KEY) ?? this.memory;
    } catch {
      return this.memory;
    }
  },
  /** @param {string} key */
  set(key) {
    this.memory = key;
    try {
      sessionStorage.setItem(KEY, key);
    } catch {}
  },
};
/** In seconds. A page that waits longer looks broken, so it says when to try again instead. */
const LONGEST_WAIT = 20;

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
async function request(method, path, body, signal) {
  const about = subjectOf(path);
  let response = await send(method, path, body, signal);
  while (response.status === 401) {
    if (storedKey.get() !== null) say("The server did not accept that API key.", about);
    const key = await askForKey();
    if (key === null) throw new Failure("This server requires an API key.", about);
    if (!/^[\x20-\x7e]+$/.test(key))
      throw new Failure("An API key may contain only printable ASCII characters.", about);
    storedKey.set(key);
    response = await send(method, path, body, signal);
  }
  if (response.status === 429 && waitOf(response) <= LONGEST_WAIT) {
    say(`The server is busy; retrying in ${seconds(waitOf(response))}.`, about);
    await pause(waitOf(response), signal);
    response = await send(method, path, body, signal);
  }
  if (response.status === 429)
    throw new Failure(`The server is too busy; try again in ${seconds(waitOf(response))}.`, about);
  if (!response.ok) {
    const told = await response.json().catch(() => null);
    if (path === HEALTH && typeof told?.problem === "string") return told; // an answer, whatever the status
    throw new Failure(messageOf(told, response.status), about);
  }
  const answer = await response.json();
  settle(about);
  return answer;
}

/** @param {string} method @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
async function send(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  const key = storedKey.get();
  if (key !== null) headers.Authorization = `Bearer ${key}`;
  const isFile = body instanceof Blob;
  if (body !== undefined) headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
  try {
    return await fetch(path, { method, headers, signal, body: body === undefined || isFile ? body : JSON.stringify(body) });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure("Cannot reach the server; check that it is running and try again.", subjectOf(path));
  }
}

/** @param {string} path */
const subjectOf = (path) => path.split("?")[0];

/** @param {any} told JSON that the server answered, null if it was none @param {number} status */
function messageOf(told, status) {
  const message = typeof told?.message === "string" ? told.message.trim() : "";
  return message === "" ? `The server failed with status ${status} and gave no reason.` : sentence(message);
}

/** @param {Response} response */
const waitOf = (response) => Math.max(1, Number(response.headers.get("Retry-After")) || 1);

/** @param {number} count */
const seconds = (count) => counted(Math.ceil(count), "second");

/** @param {number} wait @param {AbortSignal} [signal] */
const pause = (wait, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * wait);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });

/**
 * @param {{query: string, k: number, weights: string | number, where?: string, mix?: import("./types.js").Mix}} asked
 * @param {AbortSignal} signal
 * @returns {Promise<ExplainResponse>}
 */
export const explain = (asked, signal) => request("POST", "/explain", asked, signal);

/** @returns {Promise<import("./types.js").IndexResponse>} */
export const index = () => request("GET", "/index");

/** @returns {Promise<WeightsResponse>} */
export const versions = () => request("GET", "/weights");

/** @param {Record<string, string>} asked @param {AbortSignal} signal @returns {Promise<TokensResponse>} */
export const tokens = (asked, signal) =>
  request("GET", `/weights/tokens?${new URLSearchParams(asked)}`, undefined, signal);

/** @returns {Promise<DistributionResponse>} */
export const distribution = () => request("GET", "/weights/distribution");

/** How a version differs from the one in use. @param {number} version @returns {Promise<ChangesResponse>} */
export const changes = (version) => request("GET", `/weights/${version}/changes`);

/** @param {{weights?: string, tokens?: Record<string, number>, mix?: import("./types.js").Mix, base?: string}} changes @returns {Promise<WeightsResponse>} */
export const change = (changes) => request("PUT", "/weights", changes);

/** @param {number} version @returns {Promise<WeightsResponse>} */
export const drop = (version) => request("DELETE", `/weights/${version}`);

/** @param {number} version @returns {Promise<WeightsResponse>} */
export const use = (version) => request("POST", "/weights/use", { version });

/** @param {import("./types.js").Judgement[]} judgements @returns {Promise<LearnResponse>} */
export const learn = (judgements) => request("POST", "/learn", { judgements });

/**
 * @param {{judgements: import("./types.js").Judgement[], weights: (string | number)[], baseline: string | number}} asked
 * @returns {Promise<import("./evaluation.js").Evaluation>}
 */
export const evaluate = (asked) => request("POST", "/evaluate", asked);

/**
 * @param {File} file
 * @param {(string | number)[]} weights
 * @param {string | number} baseline
 * @returns {Promise<import("./evaluation.js").Evaluation>}
 */
export function evaluateFile(file, weights, baseline) {
  const asked = new URLSearchParams([["name", file.name.slice(-200)], ...weights.map((one) => ["weights", String(one)]), ["baseline", String(baseline)]]);
  return request("POST", `/evaluate/file?${asked}`, file);
}

/** The file that an evaluation is put into to save it. */
export const reportPage = () => fetch("/page/report.txt").then((response) => response.text());

/** What can be learnt from marks. @param {import("./types.js").Judgement[]} judgements @returns {Promise<CheckResponse>} */
export const check = (judgements) => request("POST", "/learn/check", { judgements });

/** What an evaluation needs. @returns {Promise<{refusal: string | null}>} */
export const evaluation = () => request("GET", "/evaluate");

/** What learning needs, and what it is doing. @returns {Promise<LearningResponse>} */
export const learning = () => request("GET", "/learn");

/** @returns {Promise<HealthResponse>} */
export const health = () => request("GET", HEALTH);
