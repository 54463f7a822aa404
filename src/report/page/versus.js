/* versus.js: the page of two runs. */
"use strict";

function draw_both(host, page) {
    const sides = [["A", page.a], ["B", page.b]].filter(([, side]) => side.steps.length > 0);
    if (sides.length === 0) {
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
        yAxis: ak.axis(colors, {type: high > 6 * low ? "log" : "value", name: "ms", scale: true,
            axisLabel: {formatter: ak.tick}}),
        series: sides.map(([name, side], k) => ({name, type: "line", step: "end", symbolSize: 6,
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
            tooltip: ak.hover(colors, (p) => p.data[2] ? ak.facts(`${ak.number(p.data[0] / p.data[1], 3)}` +
                " times as fast in B", [["A", ak.ms(p.data[0])], ["B", ak.ms(p.data[1])],
                ["configuration", p.data[2]]]) : null),
            xAxis: ak.axis(colors, {type: "log", name: "A, ms", nameLocation: "middle", nameGap: 28,
                min: low, max: high, axisLabel: {formatter: ak.tick}}),
            yAxis: ak.axis(colors, {type: "log", name: "B, ms", min: low, max: high,
                axisLabel: {formatter: ak.tick}}),
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
    main.replaceChildren(ak.el("header", null,
        ak.el("div", {class: "top"}, ak.el("h1", null, "Two runs"), ak.theme_button()),
        ak.el("p", {class: "dim"}, `A: ${page.a.id}, ${name(page.a)}`),
        ak.el("p", {class: "dim"}, `B: ${page.b.id}, ${name(page.b)}`), contents));
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
