/** Judged queries in two files, as BEIR has them: texts of queries in one, judgements by their ids in the other. */

import { asRows, parsed } from "./exchange.js";

/**
 * One file for the server, which takes one: a file as it is, or queries and judgements joined to a table.
 *
 * @param {File[]} files
 * @returns {Promise<File>}
 * @throws {Error} with one sentence, if they do not belong together
 */
export async function joinedFile(files) {
  if (files.length === 1) return files[0];
  const read = await Promise.all(files.map(async (file) => ({ file, queries: queriesIn(file.name, await file.slice(0, HEAD).text()) })));
  const texts = read.filter(({ queries }) => queries).map(({ file }) => file);
  const judged = read.filter(({ queries, file }) => !queries && !/^corpus\b/i.test(file.name)).map(({ file }) => file);
  if (texts.length !== 1 || judged.length !== 1)
    throw new Error("Choose one file of judged queries, or queries.jsonl and one file of judgements such as qrels/test.tsv.");
  const queries = await textsOf(texts[0]);
  const rows = judgements(await judged[0].text()).map(([id, document, relevance]) => {
    const text = queries.get(id);
    if (text === undefined) throw new Error(`${judged[0].name} judges the query “${id}”, which ${texts[0].name} does not have.`);
    return [text, document, relevance];
  });
  return new File([asRows(rows)], judged[0].name.replace(/\.\w+$/, "") + ".csv", { type: "text/csv" });
}

/** Characters that tell what a file holds. */
const HEAD = 100_000;

/** Whether a file holds texts of queries. @param {string} name @param {string} head */
function queriesIn(name, head) {
  if (!/\.(jsonl|ndjson)$/i.test(name) || /^corpus\b/i.test(name)) return false;
  try {
    const first = JSON.parse(head.slice(0, head.search(/\r?\n|$/)));
    return typeof first.text === "string" && ("_id" in first || "id" in first);
  } catch {
    return false;
  }
}

/** @param {File} file @returns {Promise<Map<string, string>>} texts by id */
async function textsOf(file) {
  const lines = (await file.text()).split(/\r?\n/).filter((line) => line.trim());
  return new Map(
    lines.map((line, n) => {
      try {
        const { _id, id = _id, text } = JSON.parse(line);
        if (typeof text === "string" && id !== undefined) return [String(id), text];
      } catch {}
      throw new Error(`Line ${n + 1} of ${file.name} needs an _id and a text.`);
    }),
  );
}

/** Rows of BEIR (query, document, relevance, with a head) or of TREC (query, 0, document, relevance). @param {string} text */
function judgements(text) {
  const rows = parsed(text.replace(/^\ufeff/, ""), "\t").map((row) => (row.length > 1 ? row : row[0].trim().split(/[\s,]+/)));
  const filled = rows.filter((row) => row.some((field) => field.trim()));
  const judged = filled.map((row) => (row.length === 4 ? [row[0], row[2], row[3]] : row)).map((row) => row.map((field) => field.trim()));
  return judged.filter(([, , relevance], n) => n > 0 || Number.isFinite(Number(relevance))); // the head has no number
}
