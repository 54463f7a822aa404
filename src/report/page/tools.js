/* tools.js: what all pages share: elements, numbers with units, colours, charts.
 *
 * The texts of a page come from kernels, compilers and language models and are not trusted. So no
 * script interprets a text as markup: elements are created one by one, and texts become text nodes.
 */
"use strict";

const ak = {};

/* ---- elements -------------------------------------------------------------------------------- */

/* Makes an element: el("td", {class: "right", onclick: f}, "text", element, null). Children that
   are null are left out. */
ak.el = function (tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties || {})) {
        if (value === null || value === undefined || value === false) {
            continue;
        }
        if (key.startsWith("on")) {
            element.addEventListener(key.slice(2), value);
        } else {
            element.setAttribute(key, value === true ? "" : value);
        }
    }
    for (const child of children.flat(Infinity)) {
        if (child !== null && child !== undefined) {
            element.append(child);
        }
    }
    return element;
};

/* Returns the children for a configuration, whose lines may break after commas. */
ak.config = (text) => String(text).split(",").flatMap((part, k) => k === 0 ? [part]
    : [",", ak.el("wbr"), part]);

/* Returns the children for a command, whose lines break between words only and not within
   "--name". */
ak.command = (text) => String(text).split(" ").flatMap((word, k) => [k === 0 ? "" : " ",
    ak.el("span", {class: "word"}, word)]);

/* Calls draw(). If it throws, returns a message instead, so that the other parts of the page are
   still drawn. */
ak.part = function (draw) {
    try {
        return draw();
    } catch (fault) {
        console.error(fault);
        return ak.el("p", {class: "bad"}, `This part cannot be drawn: ${fault.message}`);
    }
};

ak.details = function (summary, ...children) {
    return ak.el("details", null, ak.el("summary", null, summary), ...children);
};

/* Returns a group of buttons of which one is pressed. `choices` is [[value, label]]; change() is
   called with the value of a button that is clicked. */
ak.choice = function (label, choices, value, change) {
    const group = ak.el("div", {class: "choice", role: "group", "aria-label": label});
    const buttons = choices.map(([key, text]) => ak.el("button", {
        type: "button", "aria-pressed": String(key === value),
        onclick: () => {
            buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(choices[i][0] === key)));
            change(key);
        },
    }, text));
    group.append(...buttons);
    return group;
};

/* Parses JSON and replaces two kinds of characters, which are escaped in it (base/json.h), by
   U+FFFD: those that change the direction of text (Unicode's Bidi_Control), with which a name
   could look like another, and the separators of lines and paragraphs (U+2028, U+2029). */
ak.parse = (text) => JSON.parse(text.replace(/\\u(?:061c|200[ef]|202[89a-e]|206[6-9])/g, "\\ufffd"));

/* ---- numbers --------------------------------------------------------------------------------- */

ak.known = (value) => typeof value === "number" && Number.isFinite(value) && value > 0;

/* Writes a number as base/number.h does: with `digits` significant digits and, from 10^-7 up to
   10^15, without an exponent. From 10^4 on it has thin spaces between groups of three digits. "-"
   if there is none. */
ak.number = function (value, digits = 4) {
    if (typeof value !== "number" || !Number.isFinite(value)) {
        return "-";
    }
    if (value === 0) {
        return "0";
    }
    const size = Number(value.toExponential(digits - 1).split("e")[1]); /* 9.9996 becomes 10.00 */
    if (size >= 15 || size < -7) {
        return value.toExponential(digits - 1);
    }
    const text = value.toFixed(Math.min(Math.max(digits - 1 - size, 0), 12));
    return size < 4 ? text : ak.count(text);
};

/* Writes a ratio of speeds with three decimals, or one decimal from 10 on; below 0.1 and from 10^6
   on with three significant digits. */
ak.ratio = (value) => !ak.known(value) ? "-" : value >= 0.1 && value < 1e6
    ? value.toFixed(value < 10 ? 3 : 1) : ak.number(value, 3);

ak.ms = function (value, digits = 4) {
    if (!ak.known(value)) {
        return "-";
    }
    return value >= 1000 ? ak.number(value / 1000, digits) + " s"
        : value < 0.1 ? ak.number(value * 1000, digits) + " µs" : ak.number(value, digits) + " ms";
};

/* Writes a time and its interval in one unit: "1.234 ms (1.230 to 1.238)". */
ak.interval = function (value, low, high) {
    if (!ak.known(low) || !(high > low)) {
        return ak.ms(value);
    }
    const [scale, unit] = ak.unit_of(value);
    return `${ak.number(value * scale)} ${unit} (${ak.number(low * scale)} to ` +
        `${ak.number(high * scale)})`;
};

ak.seconds = function (value) {
    if (!(value >= 0)) {
        return "-";
    }
    if (value < 100) {
        return value === 0 ? "0 s" : ak.number(value, 3) + " s";
    }
    const whole = Math.round(value), pad = (n) => String(n).padStart(2, "0");
    const rest = `${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
    return whole < 3600 ? `${Math.floor(whole / 60)}:${pad(whole % 60)} min`
        : `${Math.floor(whole / 3600)}:${rest} h`;
};

/* Writes the label of an axis of seconds, without trailing zeros. */
ak.seconds_tick = (value) => value < 100 ? `${+value.toPrecision(3)} s` : ak.seconds(value);

ak.percent = (fraction, digits = 1) =>
    typeof fraction === "number" && Number.isFinite(fraction)
        ? (fraction * 100).toFixed(digits) + " %" : "-";

/* The tooltip of a column with shares of the roofline (ak_efficiency_doubt in C). */
ak.roofline_hint = "share of what the device can do; above 100 % the data stay in a cache, or the device " +
    "was busy when its ceilings were measured";

/* Writes a time of the archive as "2026-11-22 20:52:18". */
ak.when = (text) => (text || "").replace("T", " ").replace(/(:\d\d)\.\d+Z$/, "$1");

/* Writes a number, given as a number or a text, with thin spaces between groups of three digits
   before its decimal point. */
ak.count = (count) => String(count).replace(/^-?\d+/, (whole) =>
    whole.replace(/\B(?=(\d{3})+$)/g, "\u202f"));

ak.plural = (count, word) => `${ak.count(count)} ${word}${count === 1 ? "" : "s"}`;

/* Writes a short label for an axis with a logarithmic scale. */
ak.tick = (value) => value >= 1e6 || (value > 0 && value < 1e-4)
    ? (+value.toPrecision(3)).toExponential().replace("e+", "e") : ak.count(+value.toPrecision(3));

/* Returns the unit in which a time like this one is shown: [factor from ms, name]. */
ak.unit_of = (ms) => ms >= 1000 ? [0.001, "s"] : ms < 0.1 ? [1000, "µs"] : [1, "ms"];

/* The labels of a logarithmic axis. Each power of ten has labels at the digits of one of these
   lists: the shortest list that gives at least LOG_LABELS[0] labels. If the axis has more than
   LOG_LABELS[1] powers of ten, only every nth has labels. */
const LOG_DIGITS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8],
    Array.from({length: 18}, (_, k) => 1 + k / 2), Array.from({length: 90}, (_, k) => 1 + k / 10)];
const LOG_LABELS = [4, 10];

ak.log_ticks = function (low, high) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const every = Math.ceil((last - first) / LOG_LABELS[1]);
    let all = [];
    for (const digits of LOG_DIGITS) {
        all = [];
        for (let power = Math.ceil(first / every) * every; power <= last; power += every) {
            all.push(...digits.map((digit) => +(digit * 10 ** power).toPrecision(3)));
        }
        all = all.filter((value) => value >= low * 0.999 && value <= high * 1.001);
        if (all.length >= LOG_LABELS[0]) {
            return all;
        }
    }
    return all.length > 1 ? all : [low, high].map((value) => +value.toPrecision(3));
};

/* ---- colours --------------------------------------------------------------------------------- */

/* Colours of series that colour-blind readers can distinguish (Okabe and Ito, 2008). On a dark
   ground they are lighter. */
const SERIES_LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7a5195",
    "#6b6b6b"];
const SERIES_DARK = ["#56b4e9", "#ff9640", "#2fc99a", "#e8a3c9", "#f0e442", "#9ec9ff", "#c4a1e0",
    "#b0b0b0"];

ak.is_dark = function () {
    const chosen = document.documentElement.dataset.theme;
    return chosen === "dark" ||
        (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
};

ak.colors = function () {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {
        text: read("--text"), dim: read("--dim"), line: read("--line"), ground: read("--ground"),
        accent: read("--accent"), good: read("--good"), bad: read("--bad"),
        series: ak.is_dark() ? SERIES_DARK : SERIES_LIGHT,
        /* Colours from fast to slow. Fast ones stand out most from the ground, light or dark. */
        scale: ak.is_dark() ? ["#ffe066", "#5fb3a1", "#3d5a80"] : ["#b8500c", "#5f9ea0", "#c3d4e6"],
    };
};

/* ---- charts ---------------------------------------------------------------------------------- */

ak.charts = [];

/* Adds a chart to `host` and returns its entry in ak.charts. make(colors, narrow) returns the
   options for ECharts. It is called for each drawing: the first, and again when the colours change,
   when the chart becomes narrow or wide, or when the reader chooses something else to see.
   ready(chart, entry, colors) is called after each drawing and may attach events and a layer
   (many.js). A chart is drawn when it is scrolled near the screen or gets the focus, or by the
   functions below. */
ak.chart = function (host, height, label, make, ready) {
    const box = ak.el("div", {class: "chart", role: "img", "aria-label": label, tabindex: "0"});
    box.style.height = height + "px";
    host.append(box);
    const entry = {box, make, ready, chart: null, layer: null, narrow: null, at: null};
    ak.charts.push(entry);
    box.addEventListener("keydown", (event) => walk(entry, event));
    box.addEventListener("focus", () => entry.chart === null && ak.draw(entry));
    near.observe(box);
    new ResizeObserver(() => {
        if (entry.chart === null || !box.isConnected || box.clientWidth === 0) {
            return;
        }
        if (entry.narrow !== box.clientWidth < 560) {
            ak.draw(entry);
        } else if (entry.chart.getWidth() !== box.clientWidth) {
            entry.chart.resize();
            if (entry.layer !== null) {
                entry.layer.paint();
            }
        }
    }).observe(box);
    return entry;
};

const near = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting)
    .flatMap((one) => ak.charts.filter((entry) => entry.box === one.target && entry.chart === null))
    .forEach((entry) => ak.draw(entry)), {rootMargin: "400px"});

const waits = (entry) => entry.chart === null && entry.box.isConnected && entry.box.clientWidth > 0;

/* Draws the charts that are on the screen at once, so that no empty chart is shown. */
ak.draw_visible = () => ak.charts.filter(waits).filter((entry) => {
    const at = entry.box.getBoundingClientRect();
    return at.bottom > 0 && at.top < innerHeight;
}).forEach(ak.draw);

/* Draws all charts that are not drawn yet, for printing and for tools that read the whole page. */
ak.draw_rest = () => ak.charts.filter(waits).forEach(ak.draw);

/* Draws the charts that are not drawn yet, one by one when the browser is idle, and then calls
   done(). */
ak.draw_idly = function (done) {
    const next = ak.charts.find(waits);
    if (next === undefined) {
        done();
        return;
    }
    const idly = window.requestIdleCallback || ((draw) => setTimeout(draw, 1)); /* Safari lacks it */
    idly(() => {
        if (waits(next)) {
            ak.draw(next);
        }
        ak.draw_idly(done);
    }, {timeout: 1000});
};

/* Shows the tooltip of a point of the chart, or of a mark of its layer. */
function show_point(entry, point) {
    if (entry.layer !== null) {
        entry.layer.show(point);
    } else {
        entry.chart.dispatchAction({type: "showTip", ...point});
    }
}

/* Returns the points that the arrow keys visit: the marks of the layer, or the points of all series
   that are not silent. */
const points_of = (entry) => entry.layer !== null
    ? Array.from({length: entry.layer.count}, (_, k) => k)
    : entry.chart.getOption().series.flatMap((one, s) => one.silent || !Array.isArray(one.data) ? []
        : one.data.map((_, k) => ({seriesIndex: s, dataIndex: k})));

/* Handles keys in a focused chart: arrows move from point to point and show tooltips, Enter does
   what a click does, and Escape hides the tooltip. */
function walk(entry, event) {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const chart = entry.chart;
    if (event.key === "Escape") {
        entry.at = null;
        chart.dispatchAction({type: "hideTip"});
        return;
    }
    const points = points_of(entry);
    if (points.length === 0 || (step === undefined && (event.key !== "Enter" || entry.at === null))) {
        return;
    }
    event.preventDefault();
    if (step === undefined) {
        if (entry.layer !== null) {
            entry.layer.click(points[entry.at]);
            return;
        }
        const {seriesIndex, dataIndex} = points[entry.at];
        chart.trigger("click", {data: chart.getOption().series[seriesIndex].data[dataIndex],
            seriesIndex, dataIndex});
        return;
    }
    entry.at = entry.at === null ? (step > 0 ? 0 : points.length - 1)
        : (entry.at + step + points.length) % points.length;
    show_point(entry, points[entry.at]);
}

/* Shows point number `at` again after a chart was drawn again. */
ak.walk_on = function (entry, at) {
    const point = points_of(entry)[at];
    if (point !== undefined) {
        entry.at = at;
        show_point(entry, point);
    }
};

ak.draw = function (entry) {
    entry.at = null;
    if (entry.chart !== null) {
        entry.chart.dispose();
    }
    entry.narrow = entry.box.clientWidth < 560;
    entry.layer = null;
    const colors = ak.colors();
    entry.chart = echarts.init(entry.box, null, {renderer: "canvas"});
    const option = entry.make(colors, entry.narrow);
    entry.chart.setOption({
        animation: false, textStyle: {fontFamily: "inherit", color: colors.text},
        color: colors.series, backgroundColor: "transparent", ...option,
    });
    if (entry.ready) {
        entry.ready(entry.chart, entry, colors);
    }
};

ak.redraw = () => ak.charts.filter((e) => e.box.isConnected && e.chart !== null).forEach(ak.draw);

/* Returns the options of a scatter series of `count` points. Beyond 1000, ECharts draws them in one
   go ("large"), as squares, which is fast if they are smaller than 4 pixels. */
ak.scatter = (count, size) => ({type: "scatter", large: count > 1000, largeThreshold: 1000,
    symbolSize: count > 1000 ? 3.5 : count > 500 ? Math.min(size, 4) : size});

/* Returns the options of an axis, with `more` added. */
ak.axis = (colors, more) => ({
    axisLine: {lineStyle: {color: colors.line}}, axisTick: {lineStyle: {color: colors.line}},
    axisLabel: {color: colors.dim, hideOverlap: true, ...(more && more.axisLabel)},
    nameTextStyle: {color: colors.dim, align: more && more.nameLocation ? "center" : "left"}, splitLine: {lineStyle: {color: colors.line, opacity: 0.5}},
    ...Object.fromEntries(Object.entries(more || {}).filter(([key]) => key !== "axisLabel")),
});

/* Returns the options of a logarithmic axis from `low` to `high`; show(value) returns the text of a
   label. */
ak.log_axis = function (colors, low, high, show, more) {
    const ticks = ak.log_ticks(low, high);
    return ak.axis(colors, {type: "log", min: low, max: high, ...more,
        axisTick: {customValues: ticks, lineStyle: {color: colors.line}},
        axisLabel: {customValues: ticks, formatter: show}});
};

/* Returns the options of an axis of times from `low` to `high` ms, labelled in s, ms or µs. It is
   logarithmic if `high` is more than four times `low`. */
ak.time_axis = function (colors, low, high, more) {
    const [factor, unit] = ak.unit_of(high < 1 && low < 0.05 ? low : high);
    const digits = Math.ceil(Math.log10(high / Math.max(high - low, high * 1e-6))) + 2;
    const show = (value) => high > 4 * low ? ak.tick(value * factor)
        : String(+(value * factor).toPrecision(Math.max(digits, 3)));
    const name = (more && more.what || "") + unit;
    if (high > 4 * low) {
        return ak.log_axis(colors, low / 1.15, high * 1.15, show, {name, ...more});
    }
    const room = (high - low) * 0.08 || high * 0.05;
    return ak.axis(colors, {type: "value", name, min: Math.max(low - room, 0), max: high + room,
        ...more, axisLabel: {formatter: show, showMinLabel: false, showMaxLabel: false}});
};

/* Returns the options of a tooltip; content(p) returns its element, or null for no tooltip. */
ak.hover = (colors, content) => ({
    trigger: "item", confine: true, backgroundColor: colors.ground, borderColor: colors.line,
    textStyle: {color: colors.text, fontSize: 12}, transitionDuration: 0, formatter: content,
});

/* Returns an element for a tooltip: a title and rows [label, text]. Rows whose text is "" or "-"
   are left out. */
ak.facts = (title, rows) => ak.el("div", {class: "facts"}, ak.el("strong", null, title),
    ak.el("table", null, rows.filter(([, text]) => text !== "-" && text !== "").map(([name, text]) =>
        ak.el("tr", null, ak.el("th", null, name), ak.el("td", null, text)))));

ak.legend = (colors, more) => ({
    type: "scroll", top: 0, left: 0, textStyle: {color: colors.text}, icon: "circle",
    itemWidth: 10, itemHeight: 10, pageTextStyle: {color: colors.dim}, ...more,
});

/* ---- light and dark, paper ------------------------------------------------------------------- */

ak.theme_button = function () {
    const names = {auto: "system colours", light: "light", dark: "dark"};
    const order = ["auto", "light", "dark"];
    /* A page that is drawn again keeps the colours that the reader has chosen. */
    let at = Math.max(order.indexOf(document.documentElement.dataset.theme), 0);
    const button = ak.el("button", {
        type: "button", class: "theme",
        onclick: () => {
            at = (at + 1) % order.length;
            document.documentElement.dataset.theme = order[at];
            button.textContent = names[order[at]];
            ak.redraw();
        },
    }, names[order[at]]);
    return button;
};

/* Browsers report the width of the paper too late to draw charts for it. This width fits A4 and
   letter. */
const PAPER_WIDTH = "680px";

ak.watch_theme = function () {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ak.redraw);
    let before = null;
    addEventListener("beforeprint", () => {
        before = document.documentElement.dataset.theme;
        document.documentElement.dataset.theme = "light";
        document.querySelectorAll("details").forEach((d) => { d.dataset.was = d.open; });
        ak.charts.forEach((entry) => { entry.box.style.width = PAPER_WIDTH; });
        ak.redraw();
        ak.draw_rest();
        ak.charts.filter((entry) => entry.layer !== null).forEach((entry) => entry.layer.print());
    });
    addEventListener("afterprint", () => {
        document.documentElement.dataset.theme = before || "auto";
        ak.charts.forEach((entry) => { entry.box.style.width = ""; });
        ak.redraw();
    });
};

/* Returns a button that copies a text and says so for a moment. */
ak.copy_button = function (text) {
    const button = ak.el("button", {
        type: "button",
        onclick: async () => {
            try {
                await navigator.clipboard.writeText(text);
                button.textContent = "copied";
            } catch {
                button.textContent = "select the text and copy it";
            }
            setTimeout(() => { button.textContent = "copy"; }, 1500);
        },
    }, "copy");
    return button;
};
