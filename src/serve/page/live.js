/* live.js: the pages of the dashboard: the list of runs, the page of one run, and that of a study,
   which never changes. The server's events keep the first two up to date. If the server stops, the
   page connects again when it is back. */
"use strict";

ak.live = {runs: new Map(), studies: new Map(), fleets: [], killed: new Set(), state: null, place: null};

const REDRAW_LEAST_MS = 1000;

async function ask(address) {
    const reply = await fetch(address, {cache: "no-store"});
    if (!reply.ok) {
        throw new Error((await reply.text()).trim() || `the server says ${reply.status}`);
    }
    return ak.parse(await reply.text());
}

/* ---- what a reader has set, kept when the page is drawn again -------------------------------- */

const FOCUSABLE = "a[href], button, input, select, summary, [tabindex]";

/* Returns a description by which the focused element is found after the page is drawn again: its
   section, tag and name, and its index among elements with the same. Its index on the whole page
   would change as rows are added. */
function focused() {
    const one = document.activeElement;
    if (!one || !one.matches(FOCUSABLE)) {
        return null;
    }
    const part = one.closest("section");
    const chart = ak.charts.find((entry) => entry.box === one);
    const same = alike(part && part.id, one.tagName, name_of(one));
    return {part: part && part.id, tag: one.tagName, name: name_of(one), at: same.indexOf(one),
        point: chart ? chart.at : null, caret: one.tagName === "INPUT" ? one.selectionStart : null};
}

/* The label of a chart contains figures that change, so it is no name. */
const name_of = (one) => one.matches(".chart") ? "chart" : one.getAttribute("href") ||
    one.getAttribute("aria-label") || one.textContent;

const alike = (part, tag, name) => [...(document.getElementById(part || "page") || document)
    .querySelectorAll(FOCUSABLE)].filter((one) => one.tagName === tag && name_of(one) === name);

function focus_again(was) {
    const same = was === null ? [] : alike(was.part, was.tag, was.name);
    const one = same[Math.min(was === null ? 0 : was.at, same.length - 1)];
    if (one === undefined) {
        return;
    }
    one.focus({preventScroll: true});
    if (was.caret !== null) {
        one.setSelectionRange(was.caret, was.caret);
    }
    const chart = ak.charts.find((entry) => entry.box === one);
    if (chart && was.point !== null) {
        ak.walk_on(chart, was.point);
    }
}

/* Tables are identified by their captions, which differ within a page. */
const caption_of = (table) => table.querySelector("caption")?.textContent || "";

function settings_of(table) {
    const {state, columns} = ak.tables.get(table);
    return [caption_of(table), {filter: state.filter, shown: state.shown,
        sort: state.sort && columns[state.sort[0]].name, down: state.sort && state.sort[1],
        x: table.querySelector(".scroll").scrollLeft}];
}

function remember() {
    return {
        open: [...document.querySelectorAll("details[open] > summary")].map((s) => s.textContent),
        tables: new Map([...document.querySelectorAll("div.table")].map(settings_of)),
        pressed: [...document.querySelectorAll(".choice button")].map((b) =>
            b.getAttribute("aria-pressed")),
        focus: focused(),
        y: scrollY,
    };
}

function restore(was) {
    document.querySelectorAll("details > summary").forEach((summary) => {
        summary.parentElement.open = was.open.includes(summary.textContent);
    });
    document.querySelectorAll("div.table").forEach((table) => {
        const before = was.tables.get(caption_of(table)), now = ak.tables.get(table);
        if (before !== undefined) {
            const input = table.querySelector("input");
            const at = now.columns.findIndex((column) => column.name === before.sort);
            now.state.sort = at >= 0 ? [at, before.down] : now.state.sort;
            now.state.shown = Math.max(before.shown, now.state.shown);
            if (input) {
                input.value = now.state.filter = before.filter;
            }
            now.fill();
            table.querySelector(".scroll").scrollLeft = before.x;
        }
    });
    document.querySelectorAll(".choice button").forEach((button, k) => {
        if (was.pressed[k] === "true" && button.getAttribute("aria-pressed") !== "true") {
            button.click();
        }
    });
    scrollTo(0, was.y);
    focus_again(was.focus);
}

/* Draws the page again and restores what the reader has set. */
function redraw(draw) {
    const was = remember();
    ak.charts.forEach((entry) => entry.chart && entry.chart.dispose());
    ak.charts.length = 0;
    draw();
    restore(was);
    ak.draw_visible();
    document.documentElement.dataset.drawn = String(1 + Number(document.documentElement.dataset.drawn ||
        0));
}

/* ---- words about a run ----------------------------------------------------------------------- */

/* The server knows which runs were killed, but only of runs on its own machine. */
const is_killed = (run) => !run.ended && ak.live.killed.has(run.id);
const is_running = (run) => !run.ended && !run.imported && !is_killed(run);
/* For a recording, the name of its file without the folder. */
const device_of = (run) => run.device.replace(/^sim:.*\//, "sim:");
const task_of = (run) => [run.kernel, run.size, run.dtype, run.choices, device_of(run)]
    .filter(Boolean).join(" · ");
const age_s = (run) => (Date.now() - Date.parse(run.started)) / 1000;

/* Returns the seconds since the run's latest trial or, without trials, since it began. */
const silent_s = (run) => Math.min(age_s(run), ...(run.devices || []).map((d) =>
    (Date.now() - Date.parse(d.ended)) / 1000));

/* From "stopped_by" to words that say why a run ended. */
const ENDS = {evaluations: "all evaluations made", time: "time is up", converged: "nothing better for long",
    target: "target reached", exhausted: "all configurations tried", cancelled: "interrupted",
    generations: "all proposals tried", stalled: "nothing gained for long",
    satisfied: "nothing better expected", fault: "the machine failed"};

/* Returns the state of a run in words. A run that was killed records no end. If it ran on another
   machine, this shows only in its silence: a run at work records a trial now and then. */
function state_of(run) {
    return run.imported ? "imported" : is_killed(run) ? "killed"
        : run.ended ? ENDS[run.stopped_by] || (run.stopped_by || "ended").replace(/_/g, " ")
        : silent_s(run) < 300 ? "running" : "silent, or killed";
}

const states = () => [...ak.live.runs.values()].filter(is_running).map(state_of).join();

/* ---- the runs -------------------------------------------------------------------------------- */

/* The columns that most readers look for come first, because a narrow screen shows only these. */
function run_columns() {
    return [
        {name: "kernel", value: (r) => r.kernel,
            cell: (r) => ak.el("a", {href: `/run/${encodeURIComponent(r.id)}`}, r.kernel)},
        {name: "size", kind: "size", value: (r) => r.size,
            cell: (r) => r.size.replace(/([,;])/g, "$1\u200b")}, /* the line may break there */
        ak.figure("best", (r) => r.best_ms, ak.ms),
        ak.figure("roofline", (r) => r.efficiency, (v) => ak.known(v) ? ak.percent(v) : "-",
            {hint: ak.roofline_hint}),
        {name: "state", keep: true, value: state_of, cell: (r) =>
            ak.el("span", {class: is_running(r) ? "running" : null}, state_of(r))},
        {name: "trials", right: true, value: (r) => r.trials,
            cell: (r) => r.many_sizes ? "many sizes" : ak.count(r.trials) +
                (is_running(r) && r.asked_for > 0 ? ` of ${ak.count(r.asked_for)}` : "")},
        {name: "failed", right: true, value: (r) => r.trials - r.ok,
            cell: (r) => r.trials > r.ok ? ak.count(r.trials - r.ok) : "-"},
        {name: "device", keep: true, value: device_of, cell: (r) =>
            ak.el("span", {title: r.device}, device_of(r))},
        {name: "dtype", value: (r) => r.dtype},
        {name: "found", below: true, value: (r) => r.summary || "-"},
        {name: "strategy", keep: true, value: (r) => r.strategy || "-"},
        /* The clock of a recording begins in 1970, so its times are not shown. */
        {name: "ended (UTC)", keep: true, value: (r) => r.ended || r.started,
            cell: (r) => r.device.startsWith("sim:") ? "on a recording"
                : r.ended ? ak.when(r.ended) : "began " + ak.when(r.started)},
    ];
}

const span = (values) => [values.reduce((a, b) => Math.min(a, b)),
    values.reduce((a, b) => Math.max(a, b))];

/* Draws the best time of each run of a task over the dates of the runs. */
function draw_history(host, runs) {
    const tasks = new Map();
    for (const run of runs) {
        /* Recordings are left out, because their clocks begin in 1970. */
        if (ak.known(run.best_ms) && !run.many_sizes && !run.device.startsWith("sim:")) {
            const name = task_of(run);
            tasks.set(name, [...(tasks.get(name) || []), run]);
        }
    }
    const names = [...tasks.keys()].filter((name) => tasks.get(name).length > 1)
        .sort((a, b) => tasks.get(b).length - tasks.get(a).length);
    const recorded = runs.filter((run) => run.device.startsWith("sim:")).length;
    if (recorded > 0) {
        host.append(ak.el("p", {class: "note"}, `${ak.plural(recorded, "run")} on recordings ` +
            `${recorded === 1 ? "is" : "are"} left out here: the clock of a recording is not the ` +
            "calendar's."));
    }
    if (names.length === 0) {
        host.append(ak.el("p", {class: "note"}, "No task has been tuned twice on a device yet."));
        return;
    }
    let chosen = ak.live.task && names.includes(ak.live.task) ? ak.live.task : names[0];
    const select = ak.el("select", {"aria-label": "task", onchange: () => {
        chosen = ak.live.task = select.value;
        ak.draw(entry);
    }}, names.map((name) => ak.el("option", {value: name, selected: name === chosen},
        `${name} (${tasks.get(name).length})`)));
    host.append(ak.el("p", null, select));
    const entry = ak.chart(host, 300, "Best time of each run of the chosen task.", (colors) => {
        const list = tasks.get(chosen);
        return {
            grid: {left: 8, right: 16, top: 30, bottom: 30, containLabel: true},
            tooltip: ak.hover(colors, (p) => ak.facts(ak.when(list[p.dataIndex].started), [
                ["best", ak.ms(list[p.dataIndex].best_ms)],
                ["trials", String(list[p.dataIndex].trials)],
                ["strategy", list[p.dataIndex].strategy || "-"],
                ["found", list[p.dataIndex].summary || "-"]])),
            xAxis: ak.axis(colors, {type: "time"}),
            yAxis: ak.time_axis(colors, ...span(list.map((r) => r.best_ms)), {what: "best, "}),
            series: [{type: "line", symbol: "circle", symbolSize: 8, lineStyle: {color: colors.line},
                itemStyle: {color: colors.series[0]},
                data: list.map((r) => [Date.parse(r.started), r.best_ms])}],
        };
    }, (chart) => chart.on("click", (p) => {
        location.href = `/run/${encodeURIComponent(tasks.get(chosen)[p.dataIndex].id)}`;
    }));
}

/* Returns a table of the devices of the running runs: how many trials each has made, and its
   latest. null: there are none. */
function device_table(running) {
    const rows = running.flatMap((run) => (run.devices || []).map((d) => ({...d, run})));
    if (rows.length === 0) {
        return null;
    }
    const rate = (r) => age_s(r.run) > 0 ? 60 * r.trials / age_s(r.run) : null;
    return ak.table([
        {name: "device", keep: true, value: (r) => r.name || r.run.device,
            cell: (r) => ak.el("span", {title: r.uuid}, r.name || r.run.device)},
        ak.figure("trials", (r) => r.trials, ak.count),
        {name: "failed", right: true, value: (r) => r.trials - r.ok,
            cell: (r) => r.trials > r.ok ? ak.count(r.trials - r.ok) : "-"},
        ak.figure("a minute", rate, (v) => ak.number(v, 3)),
        {name: "busy", right: true, hint: "share of the run's time that it checked and measured",
            value: (r) => r.busy_seconds,
            cell: (r) => ak.percent(Math.min(r.busy_seconds / age_s(r.run), 1), 0)},
        {name: "last result", right: true, value: (r) => r.ms,
            cell: (r) => r.status === "ok" ? ak.ms(r.ms) : r.status.replace(/_/g, " ")},
        ak.figure("ended", (r) => r.ended, (v) => ak.el("span", {"data-since": v}, ak.ago(v))),
        {name: "run", keep: true, value: (r) => task_of(r.run), cell: (r) =>
            ak.el("a", {href: `/run/${encodeURIComponent(r.run.id)}`}, task_of(r.run))},
        {name: "configuration", below: true, value: (r) => r.config,
            cell: (r) => ak.el("code", null, ak.config(r.config))},
    ], rows, {caption: "What the devices of the runs under way do"}).element;
}

/* A tuner reports every ten seconds what its workers do. After SILENT_S seconds without a report it
   counts as killed, and after FORGOTTEN_S seconds its workers are not shown. */
const SILENT_S = 60, FORGOTTEN_S = 86400;

/* Returns a table of the workers on other machines and their states: waiting in a queue, starting,
   at work, lost. null: there are none. */
function worker_table(fleets) {
    const age = (time) => (Date.now() - Date.parse(time)) / 1000;
    const rows = fleets.filter((fleet) => age(fleet.seen) < FORGOTTEN_S)
        .flatMap((fleet) => fleet.workers.map((worker) => ({...worker, fleet})));
    if (rows.length === 0) {
        return null;
    }
    const state = (r) => age(r.fleet.seen) < SILENT_S ? r.state : "silent: the tuner was killed";
    const counts = new Map();
    rows.forEach((r) => counts.set(state(r), (counts.get(state(r)) || 0) + 1));
    /* The compile workers of a machine count from the start of its worker, but not if the tuner was
       killed. */
    const share = (r) => age(r.fleet.seen) < SILENT_S ? r.compile_workers : 0;
    const compilers = rows.reduce((sum, r) => sum + share(r), 0);
    const run_of = (r) => ak.live.runs.has(r.fleet.run) ? task_of(ak.live.runs.get(r.fleet.run))
        : r.fleet.about;
    return [ak.el("h3", null, "Workers on other machines"), ak.el("p", null, [...counts]
        .sort((a, b) => b[1] - a[1]).map(([what, n]) => `${ak.count(n)} ${what}`).join(", ") +
        (compilers > 0 ? `; ${ak.plural(compilers, "compile worker")} on their machines` : "")),
    ak.table([
        {name: "worker", right: true, value: (r) => r.seat},
        /* Until a worker sends its first message, only the launcher knows its machine. */
        {name: "device", keep: true, value: (r) => r.name.includes("@") || !r.host ? r.name
            : `${r.name}@${r.host}`},
        {name: "state", keep: true, value: state, cell: (r) => ak.el("span",
            {class: state(r) === "at work" ? "running" : /lost|given up|silent/.test(state(r))
                ? "bad" : null}, state(r))},
        ak.figure("since", (r) => r.since, (v) => ak.el("span", {"data-since": v}, ak.ago(v))),
        ak.figure("compile workers", share, (v) => v > 0 ? ak.count(v) : "-",
            {hint: "processes that compile on the worker's machine"}),
        {name: "run", keep: true, value: run_of, cell: (r) => ak.live.runs.has(r.fleet.run)
            ? ak.el("a", {href: `/run/${encodeURIComponent(r.fleet.run)}`}, run_of(r)) : run_of(r)},
        {name: "lost because", below: true, value: (r) => r.why || "-",
            cell: (r) => r.why ? "was lost: " + r.why : "-"},
    ], rows, {caption: "What the workers on other machines do", shown: 100,
        filter: rows.length > 10 ? "filter the workers" : null}).element];
}

ak.ago = function (time) {
    const seconds = Math.max(Math.round((Date.now() - Date.parse(time)) / 1000), 0);
    return (seconds < 100 ? `${seconds} s` : ak.seconds(seconds)) + " ago";
};

function study_table(studies) {
    return ak.table([
        {name: "what", keep: true, value: (s) => s.kind === "study" ? "study" : "simulation", cell: (s) =>
            ak.el("a", {href: `/study/${s.id}`}, s.kind === "study" ? "study" : "simulation")},
        {name: "of", value: (s) => s.subject},
        {name: "first", value: (s) => leader(s) ? leader(s).name : "-"},
        {name: "quality or score", right: true, value: (s) => leader(s) ? leader(s).value : null,
            cell: (s) => leader(s) ? ak.number(leader(s).value, 4) : "-"},
        {name: "ended (UTC)", keep: true, value: (s) => s.ended, cell: (s) => ak.when(s.ended)},
        {name: "arms", below: true, value: (s) => s.arms.map((a) => a.name +
            (typeof a.value === "number" ? " " + ak.number(a.value, 3) : "")).join(", ")},
    ], studies, {caption: "Studies and simulations", filter: "filter the studies", shown: 20}).element;
}

const leader = (study) => study.arms.filter((arm) => typeof arm.value === "number")
    .reduce((a, b) => a === null || b.value > a.value ? b : a, null);

function draw_runs() {
    const main = document.getElementById("page"), live = ak.live;
    const runs = [...live.runs.values()].reverse(); /* latest first */
    /* Runs that have not ended and began within two days. Older ones were probably killed. */
    const running = runs.filter((r) => is_running(r) && age_s(r) < 2 * 86400);
    const section = (id, title, ...children) => ak.el("section", {id, "aria-label": title},
        ak.el("h2", null, title), ...children);
    const history = section("history", "History");
    const studies = [...live.studies.values()].reverse();
    main.replaceChildren(
        ak.el("header", null, ak.el("div", {class: "top"}, ak.el("h1", null, "autokernel",
            ak.el("span", null, ` ${ak.plural(runs.length, "run")}`)), ak.theme_button()),
        ak.el("p", {class: "dim"}, live.archive + ", ", live.state)),
        section("running", "At work", running.length === 0
            ? ak.el("p", {class: "note"}, "No run is under way. autokernel tune KERNEL begins one.")
            : ak.part(() => [ak.table(run_columns().filter((c) => !["found", "roofline"].includes(c.name)),
                running, {caption: "Runs that have not ended"}).element, device_table(running)]),
        ak.part(() => worker_table(live.fleets))),
        section("runs", "All runs", ak.part(() => ak.table(run_columns(), runs, {caption: "All runs",
            filter: "filter the runs", placeholder: "filter, such as kernel=matmul best<1",
            shown: 50}).element)),
        history,
        section("studies", "Studies and simulations", studies.length === 0
            ? ak.el("p", {class: "note"}, "None is in this archive. autokernel study and autokernel " +
                "simulate compare strategies.")
            : ak.part(() => study_table(studies))));
    history.append(...[ak.part(() => draw_history(history, runs))].filter(Boolean));
    live.told = states();
    document.title = running.length > 0 ? `(${running.length}) autokernel` : "autokernel";
}

/* ---- one run --------------------------------------------------------------------------------- */

let page_timer = null, page_busy = false, page_again = false, page_cost_ms = 0;

/* Draws the page of a study. It is drawn once, because a study never changes. */
async function draw_study(id) {
    const main = document.getElementById("page");
    try {
        const page = await ask(`/api/study/${encodeURIComponent(id)}`);
        if (!["study", "simulate"].includes(page.kind)) {
            throw new Error(`This dashboard knows no results of the kind "${page.kind}".`);
        }
        redraw(() => {
            ak.draw_page[page.kind](main, page);
            main.querySelector("header").prepend(ak.el("p", {class: "dim"},
                ak.el("a", {href: "/"}, "all runs")));
            document.title = "autokernel: " + page.kind;
        });
    } catch (fault) {
        main.replaceChildren(ak.el("h1", null, "autokernel"),
            ak.el("p", {class: "bad"}, fault.message), ak.el("a", {href: "/"}, "all runs"));
    }
}

async function draw_one(id) {
    page_busy = true;
    try {
        const page = await ask(`/api/run/${encodeURIComponent(id)}`);
        const begun = performance.now();
        redraw(() => {
            const main = document.getElementById("page");
            ak.draw_page.run(main, page);
            main.querySelector("header").prepend(ak.el("p", {class: "dim"},
                ak.el("a", {href: "/"}, "all runs"), ", ", ak.live.state));
            document.title = `${page.report.run.kernel} ${page.report.run.size}: autokernel`;
        });
        page_cost_ms = performance.now() - begun;
    } catch (fault) {
        if (!document.querySelector("section")) {
            document.getElementById("page").replaceChildren(ak.el("h1", null, "autokernel"),
                ak.el("p", {class: "bad"}, fault.message), ak.el("a", {href: "/"}, "all runs"));
        }
    }
    page_busy = false;
    if (page_again) {
        page_again = false;
        draw_one_soon(id);
    }
}

/* Draws the page of a run again soon. If drawing takes long, it is done less often, so that it
   takes a tenth of the time at most. */
function draw_one_soon(id) {
    if (page_busy) {
        page_again = true;
    } else if (page_timer === null) {
        page_timer = setTimeout(() => {
            page_timer = null;
            draw_one(id);
        }, Math.max(REDRAW_LEAST_MS, 10 * page_cost_ms));
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

function listen(changed) {
    const events = new EventSource(`/events?since=${encodeURIComponent(ak.live.place)}`);
    events.addEventListener("open", () => { ak.live.state.textContent = "live"; });
    events.addEventListener("error", () => {
        ak.live.state.textContent = "the server is gone; this page tries again";
        if (events.readyState === EventSource.CLOSED) {
            setTimeout(() => listen(changed), 2000);
        }
    });
    events.addEventListener("fleets", (event) => {
        ak.live.fleets = ak.parse(event.data);
        changed([]);
    });
    events.addEventListener("killed", (event) => {
        const before = ak.live.killed;
        ak.live.killed = new Set(ak.parse(event.data));
        changed([...ak.live.runs.values()].filter((run) => before.has(run.id) !==
            ak.live.killed.has(run.id)));
    });
    events.addEventListener("studies", (event) => {
        ak.live.place = event.lastEventId;
        ak.parse(event.data).forEach((study) => ak.live.studies.set(study.id, study));
        changed([]);
    });
    events.addEventListener("runs", (event) => {
        ak.live.place = event.lastEventId;
        const runs = ak.parse(event.data);
        runs.forEach((run) => ak.live.runs.set(run.id, run));
        changed(runs);
    });
}

ak.live.start = async function () {
    const id = location.pathname.startsWith("/run/")
        ? decodeURIComponent(location.pathname.slice("/run/".length)) : null;
    if (location.pathname.startsWith("/study/")) {
        return draw_study(location.pathname.slice("/study/".length));
    }
    ak.live.state = ak.el("span", {class: "state", role: "status"}, "connecting");
    try {
        const all = await ask("/api/runs");
        ak.live.archive = all.archive;
        ak.live.place = all.place;
        ak.live.killed = new Set(all.killed);
        all.runs.forEach((run) => ak.live.runs.set(run.id, run));
        all.studies.forEach((study) => ak.live.studies.set(study.id, study));
    } catch (fault) {
        document.getElementById("page").replaceChildren(ak.el("p", {class: "bad"}, fault.message));
        setTimeout(ak.live.start, 2000);
        return;
    }
    if (id === null) {
        redraw(draw_runs);
        listen(() => redraw(draw_runs));
    } else {
        await draw_one(id);
        listen((runs) => {
            if (runs.some((run) => run.id === id)) {
                draw_one_soon(id);
            }
        });
    }
};

/* Every five seconds, updates the texts that say how long ago something was. No event says that a
   run on another machine was killed, so this also draws the list again when a run becomes
   silent. */
setInterval(() => {
    document.querySelectorAll("[data-since]").forEach((one) => {
        one.textContent = ak.ago(one.dataset.since);
    });
    if (ak.live.told !== undefined && ak.live.told !== states()) {
        redraw(draw_runs);
    }
}, 5000);

ak.live.start();
