/** Marks as a CSV file with the columns query, document and relevance, as `chamfer learn --qrels` reads it. */

/** @typedef {import("./judgements.js").Judgements} Judgements */

const COLUMNS = ["query", "document", "relevance"];

/** @param {Judgements} judgements */
export function asCsv(judgements) {
  const rows = Object.entries(judgements).flatMap(([query, own]) =>
    Object.entries(own).map(([id, relevant]) => [query, id, relevant ? "1" : "0"]),
  );
  return asRows(rows);
}

/** @param {string[][]} rows queries, documents and relevance */
export const asRows = (rows) => [COLUMNS, ...rows].map((row) => row.map(quoted).join(",") + "\r\n").join("");

/** @param {string} field */
const quoted = (field) => (/[",\r\n;\t]|^\s|\s$/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);

/**
 * @param {string} text
 * @returns {Judgements}
 * @throws {Error} with one sentence, if a row cannot be read
 */
export function fromCsv(text) {
  const clean = text.replace(/^\ufeff/, "");
  const head = clean.split(/\r?\n|\r/, 1)[0];
  const delimiter = [",", "\t", ";"].find((one) => head.includes(one)) ?? ",";
  const [names = [], ...rows] = parsed(clean, delimiter);
  const places = COLUMNS.map((column) => names.findIndex((name) => name.trim().toLowerCase() === column));
  if (places.slice(0, 2).includes(-1))
    throw new Error("The first row of the file must name the columns query, document and relevance.");
  /** @type {Map<string, Map<string, boolean>>} */
  const found = new Map();
  rows.forEach((row, n) => {
    if (row.every((field) => field.trim() === "")) return;
    // Without a column of relevance, every row is a relevant document.
    const [query, id, relevance] = places.map((place) => (place === -1 ? "1" : (row[place] ?? "").trim()));
    const grade = Number(relevance);
    if (!query || !id || relevance === "" || !Number.isFinite(grade))
      throw new Error(`Row ${n + 2} of the file needs a query, a document and a number for its relevance.`);
    const own = found.get(query) ?? new Map();
    found.set(query, own.set(id, grade > 0));
  });
  return Object.fromEntries([...found].map(([query, own]) => [query, Object.fromEntries(own)]));
}

/** The rows of a table; fields in quotes may hold delimiters and newlines. @param {string} text @param {string} delimiter */
export function parsed(text, delimiter) {
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let field = "";
  let isQuoted = false;
  const end = () => (row.push(field), (field = ""));
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (isQuoted) {
      if (letter !== '"') field += letter;
      else if (text[at + 1] === '"') field += text[++at];
      else isQuoted = false;
    } else if (letter === '"' && field === "") isQuoted = true;
    else if (letter === delimiter) end();
    else if (letter === "\n" || letter === "\r") {
      if (letter === "\r" && text[at + 1] === "\n") at++;
      end();
      rows.push(row);
      row = [];
    } else field += letter;
  }
  if (field !== "" || row.length) {
    end();
    rows.push(row);
  }
  return rows;
}
