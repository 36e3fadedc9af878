/** Filters: chips beside the query, and a panel with the index's own fields, values and counts. */

import { here } from "./address.js";
import * as api from "./api.js";
import { byId, counted, element, quiet } from "./element.js";
import { tell } from "./notice.js";

/** @typedef {import("./types.js").Facet} Facet */
/** @typedef {string | number | boolean} Value */

/** Values of a field that the panel lists. */
const LISTED = 8;

/** @type {(where: string[]) => void} */
let onFilter = () => {};

/** One filter from several that all must hold; none if there are none. @param {string[]} where */
export const filterOf = (where) => (where.length ? where.map((one) => (where.length > 1 ? `(${one})` : one)).join(" and ") : undefined);

const KEYWORDS = /^(and|or|not|in|is|like|null|true|false)$/i;

/** @param {string} name a field, quoted if it is not a plain word */
const field = (name) => (/^[A-Za-z_]\w*(\.\w+)*$/.test(name) && !KEYWORDS.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** @param {Value} value */
const literal = (value) => (typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value));

/** The values in a filter, as they are written. @param {string} text @returns {string[]} */
const literalsIn = (text) => (text.replace(/^(=|in) /, "").match(/'(?:[^']|'')*'|[^\s,()']+/g) ?? []);

/** The filter that ticked values of a field have made, if there is one; a typed one is left alone. @param {string} name */
const tickedFilter = (name) => here().where.find((each) => each === valuesFilter(name, literalsIn(each.slice(field(name).length + 1)))) ?? "";

/** @param {string} name @param {string[]} ticked values as they are written */
const valuesFilter = (name, ticked) =>
  ticked.length === 1 ? `${field(name)} = ${ticked[0]}` : `${field(name)} in (${ticked.join(", ")})`;

/** @param {Facet} one @param {string} lowest @param {string} highest as typed; empty for no bound */
function rangeFilter({ name, kind }, lowest, highest) {
  const bound = (/** @type {string} */ typed) => literal(kind === "date" ? typed : Number(typed));
  // A time of the last day comes after the date itself.
  const below = highest && (kind === "date" ? `< ${literal(shiftedDay(highest, 1))}` : `<= ${bound(highest)}`);
  return [lowest && `${field(name)} >= ${bound(lowest)}`, below && `${field(name)} ${below}`].filter(Boolean).join(" and ");
}

/** @param {string} date such as 2024-12-31 @param {number} days */
function shiftedDay(date, days) {
  const day = new Date(`${date}T00:00Z`);
  if (Number.isNaN(day.getTime())) return date;
  day.setUTCDate(day.getUTCDate() + days);
  return day.toISOString().slice(0, 10);
}

/**
 * The range of a field that the panel has made, if there is one.
 *
 * @param {Facet} one
 * @returns {{filter: string, lowest: string, highest: string} | undefined} with bounds as typed
 */
function ownRange(one) {
  const bounds = /^\S.*? (>=|<=|<) ('[^']*'|\S+)(?: and \S.*? (?:<=|<) ('[^']*'|\S+))?$/;
  return here().where.flatMap((filter) => {
    const [, sign, first, second] = filter.match(bounds) ?? [];
    const typed = (/** @type {string | undefined} */ text) => text?.replaceAll("'", "") ?? "";
    const [lowest, end] = sign === ">=" ? [typed(first), typed(second)] : ["", typed(first)];
    const highest = one.kind === "date" && end ? shiftedDay(end, -1) : end;
    return filter && filter === rangeFilter(one, lowest, highest) ? [{ filter, lowest, highest }] : [];
  })[0];
}

/** Show the filters of the address as chips. @param {string[]} where */
export function showFilters(where) {
  byId("filter-chips").replaceChildren(
    ...where.map((one) =>
      element(
        "button",
        { type: "button", className: "chip filter-chip", ariaLabel: `remove the filter ${one}`, onclick: () => onFilter(where.filter((other) => other !== one)) },
        element("code", {}, one),
        element("span", { ariaHidden: "true" }, " ✕"),
      ),
    ),
  );
}

async function showPanel() {
  const list = byId("facets");
  list.ariaBusy = "true"; // what is listed is from the last time
  try {
    const { fields } = await api.index();
    list.replaceChildren(...(fields.length ? fields.map(facet) : [quiet("The documents have no metadata to filter by.")]));
  } catch (error) {
    list.replaceChildren();
    tell(error);
  }
  list.ariaBusy = "false";
}

/** @param {Facet} one @returns {HTMLElement} */
function facet(one) {
  const ranged = (one.kind === "number" || one.kind === "date") && one.distinct > LISTED;
  const body = ranged ? range(one) : values(one);
  return element("fieldset", {}, element("legend", {}, one.name, element("span", { className: "quiet" }, ` ${counted(one.documents, "document")}`)), ...body);
}

/** @param {Facet} one */
function values(one) {
  const shown = one.values.slice(0, LISTED);
  const ticked = new Set(literalsIn(tickedFilter(one.name).slice(field(one.name).length + 1)));
  const boxes = shown.map(({ value, documents }) => {
    const box = element("input", {
      type: "checkbox",
      checked: ticked.has(literal(value)),
      onchange: () => {
        if (!ticked.delete(literal(value))) ticked.add(literal(value));
        const own = tickedFilter(one.name);
        const others = here().where.filter((each) => each !== own);
        onFilter(ticked.size ? [...others, valuesFilter(one.name, [...ticked])] : others);
      },
    });
    const number = element("span", { className: "number quiet" }, documents.toLocaleString("en"));
    return element("label", { className: "facet-value" }, box, element("span", {}, String(value)), number);
  });
  const others = one.distinct - shown.length;
  if (others <= 0) return boxes;
  const count = `${one.exact ? "" : "at least "}${counted(others, shown.length ? "other value" : "different value")}`;
  return [...boxes, quiet(shown.length ? `and ${count}` : count)];
}

/** @param {Facet} one */
function range(one) {
  const now = ownRange(one);
  const [lowest, highest] = /** @type {const} */ ([
    ["at least", one.lowest, now?.lowest],
    ["at most", one.highest, now?.highest],
  ]).map(([label, bound, value = ""]) => {
    const ariaLabel = `${one.name}: ${label}`;
    return /** @type {HTMLInputElement} */ (
      element("input", { type: one.kind, step: one.kind === "number" ? "any" : null, ariaLabel, value, placeholder: String(bound) })
    );
  });
  const apply = (/** @type {Event} */ event) => {
    event.preventDefault();
    const made = rangeFilter(one, lowest.value, highest.value);
    byId("filter-panel").hidePopover();
    const others = here().where.filter((each) => each !== now?.filter && each !== made);
    if (made || now) onFilter(made ? [...others, made] : others);
  };
  return [element("form", { className: "facet-range", onsubmit: apply }, lowest, " to ", highest, element("button", {}, "Apply"))];
}

/** @param {(where: string[]) => void} listener called with all filters after one was added or removed */
export function startFilters(listener) {
  onFilter = listener;
  byId("filter-panel").addEventListener("toggle", (/** @type {ToggleEvent} */ event) => {
    if (event.newState === "open") void showPanel();
    else byId("facets").ariaBusy = "true";
  });
  byId("filter-form").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const typed = byId("filter").value.trim();
    if (!typed) return;
    byId("filter").value = "";
    byId("filter-panel").hidePopover();
    listener([...here().where.filter((one) => one !== typed), typed]);
  });
}
