/* table.js: tables that are sorted by a click on a header and filtered by words in a search
   field. */
"use strict";

/* ---- filters --------------------------------------------------------------------------------- */

/* Returns how a name is written in a filter, where it must be one word: "proposed by" is
   proposed_by. */
ak.filter_name = (name) => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_|_$/g, "");

/* Returns why a word of a filter cannot be applied; null: it can. `parts` is the word's match
   [word, name, sign, value], or null for a word without a sign. */
function fault_of(word, parts, names) {
    if (parts === null) {
        return /[=<>]/.test(word) ? `${word} does not begin with a name` : null;
    }
    const [, name, sign, wanted] = parts;
    if (!names.includes(ak.filter_name(name))) {
        return `nothing here is called ${name}: there are ${names.slice(0, 24).join(", ")}` +
            (names.length > 24 ? " and others" : "");
    }
    if (wanted === "" || /^[=<>!]/.test(wanted)) {
        return `${word}: a value must follow ${sign}`;
    }
    return /[<>]/.test(sign) && !Number.isFinite(Number(wanted)) ? `${wanted} is no number` : null;
}

/* Parses the words of a filter, all of which a row must fulfil: NAME=value, NAME!=value,
   NAME>=number and so on. Any other word must occur in the row's text. `names` are the names that
   rows have. Returns {test, faults}: test(value_of, text) says whether a row passes, where
   value_of(name) and text() return its values and its whole text; `faults` says why words were left
   out. */
ak.filter = function (line, names) {
    const words = line.trim().toLowerCase().split(/\s+/).filter((word) => word !== "")
        .map((word) => [word, /^([^=<>!]+)(>=|<=|!=|=|<|>)(.*)$/.exec(word)]);
    const faults = words.map(([word, parts]) => fault_of(word, parts, names));
    const tests = words.filter((_, k) => faults[k] === null).map(([word, parts]) => {
        if (parts === null) {
            return (value_of, text) => text().includes(word);
        }
        const [, name, sign, wanted] = parts;
        const number = Number(wanted), key = ak.filter_name(name);
        return (value_of) => {
            const value = value_of(key);
            if (sign === "=" || sign === "!=") {
                const same = String(value ?? "").toLowerCase() === wanted ||
                    (value !== null && value !== "" && Number(value) === number);
                return same === (sign === "=");
            }
            const left = value === null || value === "" ? NaN : Number(value);
            return sign === ">" ? left > number : sign === "<" ? left < number
                : sign === ">=" ? left >= number : left <= number;
        };
    });
    return {test: (value_of, text) => tests.every((test) => test(value_of, text)),
        faults: faults.filter((fault) => fault !== null)};
};

/* ---- the table ------------------------------------------------------------------------------- */

const ROWS_SHOWN = 25;

/* From the element of a table to what the reader has chosen in it. A page that is drawn again
   restores this. */
ak.tables = new WeakMap();

/* Returns the number that a text begins with or, if it begins with none, the text in lower case. */
ak.sort_value = function (text) {
    const number = parseFloat(String(text).replace(/\u202f/g, ""));
    return Number.isNaN(number) ? String(text).toLowerCase() : number;
};

function compare(a, b) {
    const empty = (v) => v === null || v === undefined || v === "-" || Number.isNaN(v);
    if (empty(a) || empty(b)) {
        return empty(a) - empty(b);
    }
    if (typeof a === typeof b) {
        return a < b ? -1 : a > b ? 1 : 0;
    }
    return typeof a === "number" ? -1 : 1;
}

/* Makes a table and returns {element, select(rows or null, why), set_filter(text)}. `rows` may be
   values of any type. `columns` is a list of
       name, hint      the header and its tooltip
       value(row)      the value, for sorting and filters
       cell(row)       what is shown; without it, the value
       right           aligns to the right
       keep            does not break lines
       kind            a class for the style
       below           shows the cell in a line of its own under the row
   `options` has
       caption         the title
       filter          the label of the search field; without it, there is none
       placeholder     the text in the empty search field
       sort            [index of the column, descending]
       shown           how many rows are shown at first
       changed(rows)   is called when the filter's text has changed; null: it is empty
       names, value_of(row, name)    names beside the columns that the filter accepts, and values
       text(row)       text beside the columns in which words are looked for
       row_class(row)  a class for the row */
ak.table = function (columns, rows, options = {}) {
    const state = {sort: options.sort || null, filter: "", selected: null, why: "",
        shown: options.shown || ROWS_SHOWN};
    const body = ak.el("tbody"), count = ak.el("p", {class: "count", role: "status"});
    const more = ak.el("button", {type: "button", class: "more", onclick: () => {
        state.shown += 4 * ROWS_SHOWN;
        fill();
    }}, "show more");
    const by_name = new Map(columns.map((c) => [ak.filter_name(c.name), c]));
    const names = [...new Set([...by_name.keys(), ...options.names || []])];
    const fault = ak.el("p", {class: "bad", role: "status"});

    const shown = columns.filter((column) => !column.below);
    const below = columns.filter((column) => column.below);
    const content = (column, row) => column.cell ? column.cell(row) : String(column.value(row));

    const headers = shown.map((column) => ak.el("th",
        {scope: "col", class: column.right ? "right" : null, title: column.hint},
        ak.el("button", {type: "button", onclick: () => {
            const at = columns.indexOf(column);
            const same = state.sort !== null && state.sort[0] === at;
            state.sort = [at, same ? !state.sort[1] : false];
            fill();
        }}, column.name.split(/(?<=[_./])/).flatMap((part, k) => k === 0 ? [part]
            : [ak.el("wbr"), part]))));

    const input = ak.el("input", {
        type: "search", placeholder: options.placeholder || "filter", "aria-label": options.filter,
        oninput: () => {
            state.filter = input.value;
            fill();
        },
    });
    function matching() {
        const {test, faults} = ak.filter(state.filter, names);
        fault.textContent = faults.length === 0 ? "" : "The filter is not applied as a whole: " +
            faults.join("; ") + ".";
        input.setAttribute("aria-invalid", String(faults.length > 0));
        const value_of = (row) => (name) => by_name.has(name) ? by_name.get(name).value(row)
            : options.value_of ? options.value_of(row, name) : undefined;
        const text = (row) => () => (columns.map((c) => c.value(row)).join(" ") + " " +
            (options.text ? options.text(row) : "")).toLowerCase();
        return (state.selected || rows).filter((row) => test(value_of(row), text(row)));
    }

    let told = "";
    function fill() {
        const found = matching();
        if (state.sort !== null) {
            const [at, down] = state.sort, value = columns[at].value;
            found.sort((a, b) => {
                const order = compare(value(a), value(b));
                const unknown = [value(a), value(b)].some((v) => v === null || v === "-");
                return down && !unknown ? -order : order;
            });
        }
        headers.forEach((header, at) => {
            const on = state.sort !== null && columns[state.sort[0]] === shown[at];
            header.setAttribute("aria-sort",
                !on ? "none" : state.sort[1] ? "descending" : "ascending");
        });
        body.replaceChildren(...found.slice(0, state.shown).flatMap((row) => {
            const kind = (options.row_class ? options.row_class(row) : null) || "";
            const under = below.map((column) => content(column, row))
                .filter((cell) => cell !== "" && cell !== "-");
            return [ak.el("tr", {class: `${kind} ${under.length > 0 ? "over" : ""}`.trim() || null},
                shown.map((column) => ak.el("td",
                    {class: column.right ? "right" : column.keep ? "keep" : column.kind},
                    content(column, row)))),
            ...under.map((cell) => ak.el("tr", {class: `${kind} under`.trim()},
                ak.el("td", {colspan: shown.length}, ak.el("span", null, cell))))];
        }));
        if (options.changed && told !== state.filter) {
            told = state.filter;
            options.changed(state.filter === "" ? null : found);
        }
        more.hidden = found.length <= state.shown;
        count.textContent = found.length === rows.length && rows.length <= state.shown ? ""
            : `${Math.min(found.length, state.shown)} of ${found.length} rows` +
              (found.length < rows.length ? `, which match, of ${rows.length}` : "") +
              (state.why === "" ? "" : `; ${state.why}`);
    }

    const element = ak.el("div", {class: "table"},
        options.filter ? ak.el("div", {class: "tools"}, input, fault) : null,
        ak.el("div", {class: "scroll", tabindex: "0", role: "region",
            "aria-label": options.caption}, ak.el("table", {class: shown.length > 10 ? "broad" : null},
            options.caption ? ak.el("caption", {class: "hidden"}, options.caption) : null,
            ak.el("thead", null, ak.el("tr", null, headers)), body)), count, more);
    fill();
    ak.tables.set(element, {state, fill, columns});
    return {
        element,
        select(selected, why) {
            state.selected = selected;
            state.why = why || "";
            fill();
        },
        set_filter(text) {
            input.value = text;
            state.filter = text;
            fill();
        },
    };
};

/* Returns a column of figures, of which show(value) is the cell; `more` has further members. */
ak.figure = (name, value, show, more) =>
    ({name, right: true, value, cell: (row) => show(value(row)), ...more});

/* Returns the cells of a section row by row. */
ak.section_rows = function (section) {
    const width = section.headers === null ? 2 : section.headers.length;
    return Array.from({length: section.cells.length / width}, (_, k) =>
        section.cells.slice(k * width, (k + 1) * width));
};

/* Returns a section of the report as an element: a list of pairs, or a table with headers. */
ak.section_table = function (section) {
    const rows = ak.section_rows(section);
    if (section.headers === null) {
        return ak.el("dl", null, rows.map(([label, text]) =>
            [ak.el("dt", null, label), ak.el("dd", null, text)]));
    }
    const columns = section.headers.map((name, at) => ({
        name, right: section.right[at], below: section.below[at], value: (row) => ak.sort_value(row[at]),
        cell: (row) => row[at] === "" || row[at] === "-" ? row[at] : section.below[at]
            ? ak.config(row[at]) : name === "configuration" ? ak.el("code", {class: "whole"},
                ak.config(row[at])) : row[at],
    }));
    return ak.table(columns, rows, {caption: section.title}).element;
};
