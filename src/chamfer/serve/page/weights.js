/** The weights view: how weights are distributed, what each token weighs and why, and the versions. */

import * as api from "./api.js";
import { chooseNone, rangeOf, showDistribution } from "./distribution.js";
import { startEdits } from "./edits.js";
import { byId, counted, element } from "./element.js";
import { spelledPiece } from "./naming.js";
import { tell } from "./notice.js";
import { tokenTable } from "./weighttable.js";
import { loadVersions, startVersions } from "./versions.js";

/** @typedef {import("./types.js").DistributionResponse} DistributionResponse */
/** @typedef {import("./types.js").WeightBin} WeightBin */

/** Milliseconds to wait for the next letter before sending a request. */
const TYPING = 150;
/** Tokens to list, and those of either end of the distribution. */
const LISTED = 20;
const ENDS = 8;

/** @type {DistributionResponse | null} */
let distribution = null;
/** The range of weights whose tokens are listed. @type {WeightBin | null} */
let range = null;
/** @type {AbortController | null} */
let running = null;

/** @param {boolean} shown whether the view is visible */
export function showWeights(shown) {
  if (shown) void Promise.all([load(), loadVersions()]);
}

async function load() {
  try {
    distribution = await api.distribution();
    range = null;
    showDistribution(distribution, (bin) => {
      range = bin;
      void show();
    });
    await show();
  } catch (error) {
    tell(error);
  }
}

/** Show the tokens of a bar, those of the word in the box, or those at both ends. */
async function show() {
  running?.abort();
  const wanted = byId("contains").value.trim();
  if (range !== null) await list(range);
  else if (wanted !== "") await find(wanted);
  else showEnds();
}

/** @param {string} wanted */
async function find(wanted) {
  const own = (running = new AbortController());
  try {
    const { tokens, read } = await api.tokens({ contains: wanted, order: "frequent", limit: String(LISTED) }, own.signal);
    const counts = countsName();
    const words = read.filter((pieces) => pieces.length > 1 || !tokens.some(({ token }) => token === pieces[0].token));
    const tables = words.map((pieces) => tokenTable(readAs(pieces), pieces, { counts }));
    if (tokens.length) tables.push(tokenTable(`${many(tokens.length)} “${wanted}”`, tokens, { counts }));
    byId("token-tables").replaceChildren(...tables);
    byId("tokens-found").textContent = [
      ...words.map(readAs),
      tokens.length ? `${many(tokens.length)} “${wanted}”.` : `No token contains “${wanted}”.`,
    ].join(" ");
    byId("tokens-found").classList.toggle("unseen", tables.length > 0); // the tables say it, too
  } catch (error) {
    tell(error);
  }
}

/** @param {number} found */
const many = (found) =>
  found < LISTED ? `${counted(found, "token")} ${found === 1 ? "contains" : "contain"}` : `The ${LISTED} most frequent tokens that contain`;

/** @param {import("./types.js").WeightedToken[]} pieces */
function readAs(pieces) {
  const word = pieces.map(({ text }) => text).join("");
  if (pieces.length === 1) return `“${word}” is one token.`;
  return `“${word}” is split into ${pieces.length} pieces: ${pieces.map(spelledPiece).join(" ")}.`;
}

/** List the tokens of a bar. @param {WeightBin} bin */
async function list(bin) {
  byId("contains").value = "";
  const own = (running = new AbortController());
  const limits = Object.entries({ least: bin.least, below: bin.below }).filter(([, value]) => value !== null);
  const asked = { ...Object.fromEntries(limits.map(([name, value]) => [name, String(value)])), order: "frequent" };
  try {
    const { tokens } = await api.tokens({ ...asked, limit: String(LISTED) }, own.signal);
    const which = bin.tokens > LISTED ? `, the ${LISTED} most frequent of which are listed` : "";
    const caption = `${counted(bin.tokens, "token")} ${bin.tokens === 1 ? "weighs" : "weigh"} ${rangeOf(bin)}${which}.`;
    byId("token-tables").replaceChildren(...(tokens.length ? [tokenTable(caption, tokens, { counts: countsName() })] : []));
    byId("tokens-found").textContent = caption;
    byId("tokens-found").classList.toggle("unseen", tokens.length > 0);
  } catch (error) {
    tell(error);
  }
}

function showEnds() {
  if (distribution === null) return;
  const { heaviest, lightest, frequent } = distribution;
  const counts = countsName();
  byId("tokens-found").textContent = "";
  byId("tokens-found").classList.add("unseen");
  byId("token-tables").replaceChildren(
    ...(heaviest.length
      ? [
          element(
            "div",
            { className: "word-ends" },
            element("h3", {}, `Of the ${frequent} most frequent words`),
            tokenTable("The heaviest", heaviest.slice(0, ENDS), { counts, usual: false }),
            tokenTable("The lightest", lightest.slice(0, ENDS), { counts, usual: false }),
          ),
        ]
      : []),
  );
}

const countsName = () => (distribution?.passages ? "passages" : "documents");

export function startWeights() {
  startVersions();
  startEdits(() => void show());
  let typing = 0;
  byId("contains").addEventListener("input", () => {
    range = null;
    chooseNone();
    clearTimeout(typing);
    typing = setTimeout(show, TYPING);
  });
}
