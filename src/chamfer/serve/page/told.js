/** What the reader must know of an answer, where they look: above the results. */

import { byId, element, sentence } from "./element.js";

/** @typedef {import("./types.js").State} State */

/** Characters of the unread end of a query that are shown. */
const SHOWN = 80;

/** @param {State} state @param {boolean} filtered whether a filter left out documents */
export function tellOf({ answer }, filtered) {
  const { documents, partial, missing_shards: shards, notes, stale } = answer;
  const none = filtered ? "No document passes the filter." : "No documents found.";
  const told = [
    partial ? { wrong: true, text: `Results are incomplete: no answer from ${shards.join(", ")}.` } : null,
    ...notes.map((text) => ({ wrong: stale, text: sentence(text) })),
    answer.query_read === null ? null : { wrong: false, text: unread([...answer.query].slice(answer.query_read).join("").trim()) },
    documents.length === 0 ? { wrong: false, text: none } : null,
    documents.length > 0 && answer.probably_nothing
      ? { wrong: false, text: "Probably nothing here: no document scores higher than unrelated text does." }
      : null,
  ];
  byId("told").replaceChildren(
    ...told.flatMap((one) => (one ? [element("p", { className: one.wrong ? "wrong" : "" }, one.text)] : [])),
  );
}

/** @param {string} rest the end of the query that the model did not read */
function unread(rest) {
  const shown = rest.length > SHOWN ? `${rest.slice(0, SHOWN)}…` : rest;
  return `The query is too long for the model; it ignored “${shown}”.`;
}
