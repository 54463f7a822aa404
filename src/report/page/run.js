/* run.js: the page of one run: an object with named access to its data, and its sections, of which
   those that most readers look for come first. */
"use strict";

/* ---- the data -------------------------------------------------------------------------------- */

/* Returns the values sorted: numbers by value, then texts in alphabetical order. */
function ordered_values(values) {
    return values.slice().sort((a, b) => {
        const x = Number(a), y = Number(b), numbers = [a, b].filter((v) => v !== "" && !Number.isNaN(+v));
        return numbers.length === 2 ? x - y : numbers.length === 1 ? (Number.isNaN(x) ? 1 : -1)
            : a < b ? -1 : a > b ? 1 : 0;
    });
}

/* Makes the object `run`, which all drawing functions of this page take, from the page's data. Rows
   are the trials that are in the page, numbered from 0 in the order of evaluation. */
ak.run_of = function (data) {
    const trials = data.trials, report = data.report, count = trials.shown;
    const column = (name, i) => trials[name] ? trials[name][i] : undefined;
    const text = (name, names, i) =>
        trials[name] && trials[name][i] >= 0 ? trials[names][trials[name][i]] : "";
    const run = {data, report, count, column, parameters: trials.parameters};
    run.rows = Array.from({length: count}, (_, i) => i);
    run.has = (name) => trials[name] !== undefined;
    run.ms = (i) => column("ms", i);
    run.status = (i) => text("status", "statuses", i);
    run.reason = (i) => text("reason", "reasons", i);
    run.ok = (i) => run.status(i) === "ok" && ak.known(run.ms(i));
    run.evaluation = (i) => trials.evaluation[i];
    run.value = (i, p) => {
        const at = trials.config[p][i];
        return at < 0 ? "" : run.parameters[p].values[at];
    };
    run.config = (i) => run.parameters.map((p, k) => [p.name, run.value(i, k)])
        .filter(([, value]) => value !== "").map((pair) => pair.join("=")).join(",");
    run.ordered = (p) => ordered_values(run.parameters[p].values);
    run.varied = run.parameters.map((_, p) => p).filter((p) => run.parameters[p].values.length > 1);

    /* When each trial ended, in seconds since the run began. Without recorded times, the costs of
       the trials are added up, as if they had run one after another. */
    const clock = run.has("end_s") && trials.end_s[count - 1] > 0;
    let sum = 0;
    const ends = clock ? trials.end_s : run.rows.map((i) => {
        for (const stage of ["propose_s", "compile_s", "check_s", "measure_s", "overhead_s"]) {
            sum += column(stage, i) || 0;
        }
        return sum;
    });
    run.has_clock = count > 0 && ends[count - 1] > 0;
    run.end_s = (i) => ends[i];

    const names = run.rows.map((i) => text("strategy", "strategies", i) +
        (text("model", "models", i) ? " with " + text("model", "models", i) : ""));
    run.proposers = [...new Set(names)].map((name) => name || "not recorded");
    run.proposer = (i) => run.proposers.indexOf(names[i] || "not recorded");

    run.candidates = report.finish.filter((c) => c && ak.known(c.ms))
        .map((c) => ({...c, library: c.config === null || c.config === undefined}));
    run.best = report.best;
    run.facts_of = (i) => ak.facts(`evaluation ${run.evaluation(i)}`, [
        ["time", run.ok(i) ? ak.interval(run.ms(i), column("low_ms", i), column("high_ms", i))
            : run.status(i).replace(/_/g, " ")],
        ["rate", ak.known(column("tflops", i)) ? ak.number(column("tflops", i)) + " TFLOP/s"
            : ak.known(column("gbs", i)) ? ak.number(column("gbs", i)) + " GB/s" : "-"],
        ["roofline", ak.known(column("efficiency", i)) ? ak.percent(column("efficiency", i)) : "-"],
        ["proposed by", run.proposers[run.proposer(i)]],
        ...run.varied.slice(0, 20).map((p) => [run.parameters[p].name, run.value(i, p)]),
    ]);
    run.show = () => {};
    return run;
};

/* ---- the table of configurations ------------------------------------------------------------- */

function config_table(run, changed) {
    const memory = run.report.roofline && run.report.roofline.bound === "memory";
    const rate = memory ? "gbs" : "tflops";
    const figure = (name, title, show, hint) => run.has(name) ? ak.figure(title,
        (i) => ak.known(run.column(name, i)) ? run.column(name, i) : null,
        (v) => v === null ? "-" : show(v), {hint}) : null;
    const columns = [
        {name: "evaluation", right: true, value: run.evaluation},
        {name: "status", value: (i) => run.status(i).replace(/_/g, " ")},
        ak.figure("ms", (i) => run.ok(i) ? run.ms(i) : null, (v) => ak.number(v)),
        {name: "95 % interval", right: true,
            value: (i) => run.column("high_ms", i) > run.column("low_ms", i) ? run.column("low_ms", i) : null,
            cell: (i) => run.column("high_ms", i) > run.column("low_ms", i)
                ? `${ak.number(run.column("low_ms", i))} .. ${ak.number(run.column("high_ms", i))}` : "-"},
        figure(rate, memory ? "GB/s" : "TFLOP/s", (v) => ak.number(v)),
        figure("efficiency", "roofline", (v) => ak.percent(v), ak.roofline_hint),
        ...run.varied.map((p) => ({name: run.parameters[p].name,
            right: run.parameters[p].values.every((v) => v !== "" && !Number.isNaN(+v)),
            value: (i) => ak.sort_value(run.value(i, p)), cell: (i) => run.value(i, p)})),
        {name: "proposed by", value: (i) => run.proposers[run.proposer(i)]},
        figure("registers", "registers", String), figure("spill_bytes", "spilled bytes", String),
        figure("same_code", "same code", (v) => v ? "yes" : "no",
            "not measured: the same code as an earlier trial, whose time it shows"),
        figure("resumed", "resumed", (v) => v ? "yes" : "no", "measured in an earlier run, which this one resumed"),
        figure("compile_s", "compile", ak.seconds), figure("measure_s", "measure", ak.seconds),
    ].filter((column) => column !== null);
    const best = run.best ? run.best.config : null;
    /* The filter also accepts parameters that never change, which have no column. */
    const others = new Map(run.parameters.map((p, k) => [ak.filter_name(p.name), k]));
    return ak.table(columns, run.rows, {
        caption: "All configurations that were tried, fastest first",
        filter: "filter the configurations", sort: [2, false], changed,
        placeholder: "filter, such as status=ok ms<1.5",
        row_class: (i) => run.config(i) === best ? "best" : run.ok(i) ? null : "failed",
        names: ["reason", ...others.keys()],
        value_of: (i, name) => name === "reason" ? run.reason(i) : run.value(i, others.get(name)),
        text: (i) => `${run.config(i)} ${run.reason(i)}`,
    });
}

/* ---- the sections ---------------------------------------------------------------------------- */

/* Sections of the report that this page draws as charts or tables of its own. */
const DRAWN = new Set(["In words", "Convergence", "Fastest configurations", "Failures", "Best",
    "What the best changes"]);

function failure_table(run) {
    const columns = [
        {name: "count", right: true, value: (f) => f.count},
        {name: "status", value: (f) => f.status.replace(/_/g, " ")},
        {name: "reason", value: (f) => f.reason || "(none given)",
            cell: (f) => ak.el("span", {class: "reason"}, f.reason || "(none given)")},
        {name: "first configuration", value: (f) => f.config,
            cell: (f) => ak.el("code", null, ak.config(f.config))},
    ];
    return ak.table(columns, run.report.failures, {caption: "Kinds of failures",
        shown: 10}).element;
}

function change_table(run) {
    const range = (c) => c.pairs > 0 && c.greatest > c.least
        ? `${ak.ratio(c.least)} .. ${ak.ratio(c.greatest)}` : "-";
    const columns = [
        {name: "parameter", value: (c) => c.parameter},
        {name: "default", value: (c) => ak.sort_value(c.from), cell: (c) => c.from},
        {name: "best", value: (c) => ak.sort_value(c.to), cell: (c) => c.to},
        ak.figure("times as fast", (c) => c.speed, (v) => ak.known(v) ? ak.ratio(v) : "-"),
        {name: "interval", right: true, value: (c) => c.least, cell: range},
        {name: "pairs of trials", right: true, value: (c) => c.pairs},
    ];
    return ak.table(columns, run.data.changes, {caption: "What the best changes of the default"}).element;
}

function title_of(run) {
    const r = run.report.run, words = (r.choices ? r.choices + ", " : "") + r.dtype;
    return [r.kernel, [r.size.replace(/;/g, "; "), words].filter(Boolean).join(", "),
        `on ${r.device.replace(/^sim:.*\//, "sim:")}`].filter(Boolean);
}

/* Adds a section with this id, a heading and what fill() appends, and its line in the contents.
   Adds nothing if fill() appends nothing. */
function section(parent, contents, id, title, fill) {
    const element = ak.el("section", {id, "aria-label": title}, ak.el("h2", null, title));
    parent.append(element);
    element.append(...[ak.part(() => { fill(element); })].filter(Boolean));
    if (element.children.length === 1) {
        element.remove();
        return;
    }
    contents.append(ak.el("a", {href: "#" + id}, title));
}

/* Returns the head of a page: its title with further words, lines of text, and the contents. */
const page_header = (title, words, lines, contents) => ak.el("header", null,
    ak.el("div", {class: "top"}, ak.el("h1", null, title,
        words === "" ? null : ak.el("span", null, " " + words)), ak.theme_button()),
    lines.map((line) => ak.el("p", {class: "dim"}, line)), contents);

function header(run, contents) {
    const r = run.report.run, [kernel, ...rest] = title_of(run);
    return page_header(kernel, rest.join(" "),
        [`run ${r.id}, ${r.implementation || "no implementation"}, ` +
            `${r.strategy || (run.report.sizes ? "many sizes" : "strategy not recorded")}, ` +
            /* The clock of a recording begins in 1970, so its times are not shown. */
            (r.device.startsWith("sim:") ? "on a recording" : `started ${ak.when(r.started)} UTC`) +
            ({running: ", still running", killed: ", killed", unknown: ", not ended"}[r.state] || "")],
        contents);
}

ak.draw_page = {};

ak.draw_page.run = function (main, data) {
    const run = ak.run_of(data), contents = ak.el("nav", {"aria-label": "sections"});
    const by_title = new Map(data.sections.map((s) => [s.title, s]));
    const used = new Set(DRAWN);
    const draw = ak.draw_run;
    main.replaceChildren(header(run, contents));
    const add = (id, title, fill) => section(main, contents, id, title, fill);
    const contents_of = (s) => [s.note ? ak.el("p", {class: "note"}, s.note) : null,
        ak.section_table(s)];
    const find = (title) => {
        const s = by_title.get(title);
        used.add(title);
        return s && s.cells.length > 0 ? [s] : [];
    };
    const take = (host, ...titles) => titles.flatMap(find).forEach((s) =>
        host.append(ak.el("h3", null, s.title), ...contents_of(s).filter(Boolean)));
    const fold = (host, ...titles) => titles.flatMap(find).forEach((s) =>
        host.append(ak.details(s.title, ...contents_of(s))));
    let table = null, light = () => {};

    add("summary", "What was found", (host) => {
        data.headline.forEach((line, k) =>
            host.append(ak.el("p", {class: k === 0 ? "lead" : null}, line.text)));
        if (run.best) {
            host.append(ak.el("p", {class: "config"}, ak.el("code", null, ak.config(run.best.config)),
                ak.copy_button(run.best.config)));
        }
        run.report.warnings.forEach((text) => host.append(ak.el("p", {class: "warning"}, text)));
        used.add("Warnings");
    });
    if (run.report.sizes) {
        add("sizes", "Across sizes", (host) => {
            if (location.pathname.startsWith("/run/")) {
                host.append(ak.el("p", null, "The runs of the sizes: ", run.report.sizes.sizes
                    .filter((s) => s.run).flatMap((s, k) => [k > 0 ? ", " : "",
                        ak.el("a", {href: "/run/" + encodeURIComponent(s.run)}, s.size)])));
            }
            draw.sizes(host, run);
            take(host, "Configurations for all sizes", "Sizes", "Stability of the winners",
                "How many configurations it takes");
        });
    }
    if (run.count > 0) {
        add("convergence", "How the search went", (host) => draw.convergence(host, run));
        add("roofline", "How fast it could be", (host) => {
            draw.roofline(host, run);
            take(host, "Finish: measured interleaved");
        });
        add("changes", "What the best changes", (host) => {
            if (run.data.changes.length > 0) {
                host.append(change_table(run), ak.el("p", {class: "note"},
                    "Of every two configurations that differ in this parameter alone: the median ratio " +
                    "of their times, and what the intervals of these leave open. A dash: there are no " +
                    "such two."));
            }
        });
        add("importance", "Parameter importance", (host) => {
            draw.importance(host, run);
            take(host, "Where it is fast and slow");
            fold(host, "Strongest pairs", "Values among the fastest and among all",
                "Values tried");
            used.add("Parameter importance");
        });
        add("parallel", "All configurations at once", (host) => {
            if (run.varied.length === 0) {
                return;
            }
            host.append(ak.el("p", {class: "note"}, "Each line is a successful configuration, the " +
                "fastest on top. Drag along an axis to select; the table below follows, and what its " +
                "filter finds is lit here."));
            light = draw.parallel(host, run, (rows) => table.select(rows,
                rows === null ? "" : "selected in the chart above"));
        });
        add("table", "Top configurations", (host) => {
            table = config_table(run, (found) => light(found));
            run.show = (i) => {
                table.set_filter(`evaluation=${run.evaluation(i)}`);
                host.scrollIntoView({block: "nearest"});
            };
            if (run.count < data.trials.count) {
                host.append(ak.el("p", {class: "note"}, `${run.count} of the ${data.trials.count} ` +
                    "trials are in this page: the fastest, and every so many of the others."));
            }
            if (run.best && run.rows.some((i) => run.config(i) === run.best.config)) {
                host.append(ak.el("p", {class: "note"}, "Times of the search; the shaded row is the " +
                    "configuration that is the best."));
            }
            host.append(table.element);
        });
        add("failures", "What failed", (host) => {
            draw.failures(host, run);
            if (run.report.failures.length > 0) {
                host.append(failure_table(run));
            }
        });
        add("time", "Where the time went", (host) => {
            draw.time(host, run);
            draw.timeline(host, run);
            compile_by(host, run);
            fold(host, "Time");
        });
        add("conditions", "Clocks, power and temperature", (host) => {
            draw.conditions(host, run);
            take(host, "Finish: clocks, power and temperature", "Devices");
        });
    }
    if (data.talk) {
        add("talk", "What the language model learned", (host) => {
            take(host, "Language model");
            draw.talk(host, run);
        });
    }
    add("environment", "Where and how", (host) => {
        take(host, "Who proposed");
        const rest = data.sections.filter((s) => !used.has(s.title) && s.cells.length > 0 &&
            s.title !== "How to repeat the run");
        fold(host, ...rest.map((s) => s.title));
    });
    add("again", "How to repeat the run", (host) => host.append(...[ak.el("p", {class: "config"},
        ak.el("code", null, ak.command(run.report.command)), ak.copy_button(run.report.command)),
    run.report.command_beside ? ak.el("p", {class: "note"}, "It repeats the run in the folder that " +
        `holds ${run.report.command_beside}.`) : null,
    ak.el("p", {class: "note"}, `Made with autokernel ${run.report.autokernel}.`)].filter(Boolean)));
    return run;
};

/* Shows compile times for each compiler, if a parameter chooses the compiler. */
function compile_by(host, run) {
    const p = run.parameters.findIndex((one) => /^(compiler|cc)$/i.test(one.name));
    if (p < 0 || !run.has("compile_s") || run.parameters[p].values.length < 2) {
        return;
    }
    const rows = run.ordered(p).map((name) => {
        const seconds = run.rows.filter((i) => run.value(i, p) === name)
            .map((i) => run.column("compile_s", i)).filter(ak.known);
        return {name, count: seconds.length, sum: seconds.reduce((a, b) => a + b, 0)};
    }).filter((row) => row.count > 0);
    host.append(ak.el("h3", null, "Compiling, by compiler"), ak.table([
        {name: "compiler", value: (r) => r.name},
        {name: "configurations", right: true, value: (r) => r.count},
        ak.figure("time", (r) => r.sum, ak.seconds),
        ak.figure("each", (r) => r.sum / r.count, ak.seconds),
    ], rows, {caption: "Compile times by compiler"}).element);
}
