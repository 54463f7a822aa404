/* versus.js: the pages of two runs, and of one task over the versions of its kernel. */
"use strict";

function draw_both(host, page) {
    const sides = [["A", page.a], ["B", page.b]].filter(([, side]) => side.steps.length > 0);
    /* `why_not`: the tasks differ, so their times cannot be compared. */
    if (sides.length === 0 || page.why_not) {
        return;
    }
    const times = sides.flatMap(([, side]) => side.steps.map((step) => step[1]));
    const low = Math.min(...times), high = Math.max(...times);
    ak.chart(host, 340, "The best time so far of both runs over evaluations.", (colors) => ({
        legend: ak.legend(colors),
        grid: {left: 8, right: 16, top: 54, bottom: 30, containLabel: true},
        tooltip: ak.hover(colors, (p) => ak.facts(`${p.seriesName}, evaluation ${p.data[0]}`,
            [["time", ak.ms(p.data[1])], ["configuration", p.data[2] || "-"]])),
        xAxis: ak.axis(colors, {type: "value", name: "evaluation", nameLocation: "middle",
            nameGap: 26, min: 0, splitLine: {show: false}}),
        yAxis: ak.time_axis(colors, low, high, {what: "time, "}),
        series: sides.map(([name, side], k) => ({name, type: "line", step: "end", symbol: "circle", symbolSize: 6,
            itemStyle: {color: colors.series[k]}, lineStyle: {color: colors.series[k], width: 2},
            data: [...side.steps, [side.trials, side.steps[side.steps.length - 1][1],
                side.steps[side.steps.length - 1][2]]]})),
    }));
}

function draw_common(host, page) {
    if (page.common.length === 0) {
        return;
    }
    const ends = page.common.flatMap(([a, b]) => [a, b]);
    const low = Math.min(...ends) * 0.9, high = Math.max(...ends) * 1.1;
    ak.chart(host, 420, `Times of ${page.common.length} configurations that both tried.`,
        (colors) => ({
            grid: {left: 8, right: 16, top: 34, bottom: 34, containLabel: true},
            tooltip: ak.hover(colors, (p) => p.data[2] ? ak.facts(`${ak.ratio(p.data[0] / p.data[1])}` +
                " times as fast in B", [["A", ak.ms(p.data[0])], ["B", ak.ms(p.data[1])],
                ["configuration", p.data[2]]]) : null),
            xAxis: ak.time_axis(colors, low, high, {what: "A, ", nameLocation: "middle",
                nameGap: 28}),
            yAxis: ak.time_axis(colors, low, high, {what: "B, "}),
            series: [{type: "line", silent: true, showSymbol: false,
                lineStyle: {color: colors.line, type: "dashed"}, data: [[low, low], [high, high]]},
            {type: "scatter", symbolSize: 7, itemStyle: {color: colors.series[0], opacity: 0.7},
                data: page.common}],
        }));
    host.append(ak.el("p", {class: "note"},
        "Below the dashed line a configuration was faster in B."));
}

ak.draw_page.versus = function (main, page) {
    const contents = ak.el("nav", {"aria-label": "sections"});
    const name = (side) => `${side.kernel} ${side.size} on ${side.device}`;
    main.replaceChildren(page_header("Two runs", "", [`A: ${page.a.id}, ${name(page.a)}`,
        `B: ${page.b.id}, ${name(page.b)}`], contents));
    page.sections.filter((s) => s.cells.length > 0).forEach((s, k) => {
        section(main, contents, `section-${k}`, s.title, (host) => {
            if (s.note) {
                host.append(ak.el("p", {class: k === 1 ? "lead" : "note"}, s.note));
            }
            if (s.title === "What each found") {
                draw_both(host, page);
            }
            if (s.title === "Configurations that both tried") {
                draw_common(host, page);
            }
            host.append(ak.section_table(s));
        });
    });
};

/* ---- versions of a kernel -------------------------------------------------------------------- */

function draw_versions(host, page) {
    const list = page.versions.map((v, k) => ({...v, at: k + 1}));
    const best = list.filter((v) => ak.known(v.ms)), same = list.filter((v) => ak.known(v.same_ms));
    const times = [...best.flatMap((v) => [v.ms, v.low_ms, v.high_ms]), ...same.map((v) => v.same_ms)]
        .filter(ak.known);
    if (times.length === 0) {
        return;
    }
    const facts = (p) => {
        const v = list[p.data.version - 1];
        return ak.facts(`version ${v.at}${v.at === page.version ? ", of this run" : ""}`, [
            ["since", ak.when(v.since)], ["best", ak.interval(v.ms, v.low_ms, v.high_ms)],
            ["this run's best", ak.ms(v.same_ms)], ["trials", String(v.trials)],
            ["configuration", v.config || "-"]]);
    };
    ak.chart(host, 320, "Best time of each version: " + best.map((v) =>
        `${v.at}: ${ak.ms(v.ms)}`).join(", "), (colors) => ({
        legend: ak.legend(colors),
        grid: {left: 8, right: 20, top: 54, bottom: 30, containLabel: true},
        tooltip: ak.hover(colors, facts),
        xAxis: ak.axis(colors, {type: "category", data: list.map((v) => String(v.at)),
            name: "version", nameLocation: "middle", nameGap: 26}),
        yAxis: ak.time_axis(colors, Math.min(...times), Math.max(...times), {what: "time, "}),
        series: [{name: "best of the version", type: "line", symbol: "circle", symbolSize: 9,
            itemStyle: {color: colors.series[0]}, lineStyle: {color: colors.series[0], width: 2},
            data: best.map((v) => ({value: [String(v.at), v.ms], version: v.at}))},
        {name: "this run's best", type: "scatter", symbol: "diamond", symbolSize: 11,
            itemStyle: {color: colors.series[1]},
            data: same.map((v) => ({value: [String(v.at), v.same_ms], version: v.at}))},
        {type: "custom", silent: true, z: 4, data: best.filter((v) => ak.known(v.high_ms))
            .map((v) => [String(v.at), v.low_ms, v.high_ms]), encode: {x: 0, y: [1, 2]},
        renderItem: (_, api) => {
            const low = api.coord([api.value(0), api.value(1)]);
            const high = api.coord([api.value(0), api.value(2)]);
            return {type: "group", children: [[low[1], low[1]], [high[1], high[1]]].map(([y]) =>
                ({type: "line", shape: {x1: low[0] - 6, x2: low[0] + 6, y1: y, y2: y}})).concat([
                {type: "line", shape: {x1: low[0], x2: low[0], y1: low[1], y2: high[1]}}])
                .map((one) => ({...one, style: {stroke: colors.text, lineWidth: 1.2}}))};
        }}],
    }));
}

/* Returns a table of the lines that were removed and added. Each has a colour and, for readers who
   cannot see it, a sign. */
function draw_lines(s) {
    const rows = ak.section_rows(s);
    return ak.el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": s.note},
        ak.el("table", {class: "lines"}, ak.el("tbody", null, rows.map(([file, line, kind, text], k) =>
            [k === 0 || rows[k - 1][0] !== file ? ak.el("tr", null, ak.el("th",
                {colspan: "3", scope: "rowgroup"}, file)) : null,
            ak.el("tr", {class: kind === "+" ? "came" : kind === "-" ? "went" : null},
                ak.el("td", {class: "right"}, line), ak.el("td", null, kind),
                ak.el("td", null, text))]))));
}

ak.draw_page.versions = function (main, page) {
    const contents = ak.el("nav", {"aria-label": "sections"});
    main.replaceChildren(page_header(page.kernel,
        `${page.size} on ${page.device}, over its versions`, [], contents));
    page.sections.filter((s) => s.cells.length > 0).forEach((s, k) => {
        section(main, contents, `section-${k}`, s.title, (host) => {
            host.append(ak.el("p", {class: "note"}, s.note));
            if (k === 0) {
                draw_versions(host, page);
            }
            host.append(s.title === "What changed" ? draw_lines(s) : ak.section_table(s));
        });
    });
};
