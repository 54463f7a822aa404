/* charts.js: the charts of a run. `run` is the object that ak.run_of in run.js makes of the data.
   Each function in ak.draw_run appends a chart to the element `host` or, if there is nothing to
   draw, a note or nothing. It returns nothing unless its comment says so. */
"use strict";

ak.draw_run = {};

/* ---- convergence ----------------------------------------------------------------------------- */

/* Returns the steps of the best time so far, in the order of evaluation: [x, ms, row]. `x(row)` is
   the horizontal position of a trial. The last step repeats the best at the largest x, so that the
   line reaches the end. */
function best_so_far(run, x) {
    const steps = [];
    let best = Infinity, last = 0;
    for (let i = 0; i < run.count; i++) {
        const at = x(i);
        last = Math.max(last, at);
        if (run.ok(i) && run.ms(i) < best) {
            best = run.ms(i);
            steps.push([at, best, i]);
        }
    }
    if (steps.length > 0) {
        steps.push([last, best, steps[steps.length - 1][2]]);
    }
    return steps;
}

/* Returns the libraries by their times, as [{ms, name}]. A library within 5 % of the first one of a
   label shares this label, because the two texts would overlap. */
function levels(run) {
    const list = run.candidates.filter((c) => c.library).sort((a, b) => a.ms - b.ms);
    const groups = [];
    for (const one of list) {
        const last = groups[groups.length - 1];
        if (last && one.ms < last.ms * 1.05) {
            last.name += ", " + library_name(run, one);
        } else {
            groups.push({ms: one.ms, name: library_name(run, one)});
        }
    }
    return groups;
}

/* Returns the name of a library, with its version if two libraries have the same name. */
function library_name(run, one) {
    return run.candidates.filter((c) => c.name === one.name).length > 1
        ? `${one.name} ${one.version || ""}`.trim() : one.name;
}

ak.draw_run.convergence = function (host, run) {
    let by = "evaluations";
    const all = run.rows.filter(run.ok);
    if (all.length === 0) {
        host.append(ak.el("p", {class: "note"}, "No configuration was successful."));
        return;
    }
    const times = all.map(run.ms);
    const least = times.reduce((a, b) => Math.min(a, b)), most = times.reduce((a, b) => Math.max(a, b));
    const label = `Time of each successful configuration in the order of evaluation, from ` +
        `${ak.ms(run.ms(all[0]))} to ${ak.ms(least)}.`;
    const entry = ak.chart(host, 380, label, (colors, narrow) => {
        const x = by === "seconds" ? run.end_s : run.evaluation;
        const libraries = levels(run).map((one, k) => ({
            yAxis: one.ms, name: one.name, lineStyle: {color: colors.dim, type: "dashed"},
            label: {formatter: one.name, position: k % 2 ? "insideStartTop" : "insideEndTop",
                color: colors.text, fontSize: 11, width: narrow ? 150 : 420, overflow: "truncate",
                textBorderColor: colors.ground, textBorderWidth: 3},
        }));
        const low = libraries.reduce((a, l) => Math.min(a, l.yAxis), least);
        const high = libraries.reduce((a, l) => Math.max(a, l.yAxis), most);
        return {
            legend: ak.legend(colors, {data: [...run.proposers, "best so far"]}),
            grid: {left: 8, right: 16, top: 54, bottom: 30, containLabel: true},
            tooltip: ak.hover(colors, (p) => run.facts_of(p.data[2])),
            xAxis: ak.axis(colors, {type: "value", name: by === "seconds" ? "seconds" : "evaluation",
                nameLocation: "middle", nameGap: 26, min: 0, splitLine: {show: false}}),
            yAxis: ak.time_axis(colors, low, high, {what: "time, "}),
            dataZoom: narrow ? [] : [{type: "inside", filterMode: "none"}],
            series: [...run.proposers.map((name, k) => ({
                name, ...ak.scatter(all.length, 7),
                itemStyle: {color: colors.series[k % 8], opacity: 0.75},
                data: all.filter((i) => run.proposer(i) === k).map((i) => [x(i), run.ms(i), i]),
            })), {
                name: "best so far", type: "line", step: "end", showSymbol: false, z: 3,
                itemStyle: {color: colors.text}, lineStyle: {color: colors.text, width: 2},
                data: best_so_far(run, x), tooltip: {show: true},
                markLine: {symbol: "none", silent: true, data: libraries},
            }],
        };
    }, (chart) => chart.on("click", (p) => p.data && run.show(p.data[2])));
    if (run.has_clock) {
        entry.box.before(ak.choice("horizontal axis", [["evaluations", "by evaluations"],
            ["seconds", "by seconds"]], by, (value) => {
            by = value;
            ak.draw(entry);
        }));
    }
};

/* ---- roofline -------------------------------------------------------------------------------- */

/* Returns the bandwidths of memory and caches, slowest first: [{name, gbs}]. */
function bandwidths(roof) {
    const list = [["memory", roof.memory_gbs], ["last private cache", roof.cache_gbs],
        ["first cache", roof.l1_gbs]]
        .filter(([, gbs]) => ak.known(gbs)).map(([name, gbs]) => ({name, gbs}));
    if (ak.known(roof.bandwidth_gbs) &&
        !list.some((one) => Math.abs(one.gbs / roof.bandwidth_gbs - 1) < 1e-3)) {
        list.push({name: roof.cache ? "a cache" : "memory", gbs: roof.bandwidth_gbs});
    }
    return list.sort((a, b) => a.gbs - b.gbs);
}

/* Returns what has a symbol of its own in a chart, as [name, candidate]: the libraries, the default
   and the best, as far as their rates are known. */
function marks(run) {
    const list = run.candidates.filter((c) => c.library).map((c) => [library_name(run, c), c]);
    const fallback = run.candidates.find((c) => c.name === "default");
    if (fallback) {
        list.push(["default", fallback]);
    }
    if (run.best) {
        list.push(["best", run.best]);
    }
    return list.filter(([, c]) => ak.known(c.tflops) || ak.known(c.gbs));
}

const SIGNS = ["diamond", "triangle", "rect", "path://M-10,-8H10L0,9Z",
    "path://M-3,-10H3V-3H10V3H3V10H-3V3H-10V-3H-3Z", "roundRect"];

function mark_series(run, colors, point) {
    return marks(run).map(([name, c], k) => ({
        name, type: "scatter", symbol: name === "best" ? "path://M0,-10 L2.9,-3.1 10,-3.1 4.5,1.6 " +
            "6.4,8.7 0,4.4 -6.4,8.7 -4.5,1.6 -10,-3.1 -2.9,-3.1 Z" : SIGNS[k % SIGNS.length],
        symbolSize: name === "best" ? 17 : 12, z: 5,
        itemStyle: {color: name === "best" ? colors.accent : colors.series[(k + 1) % 8],
            borderColor: colors.ground, borderWidth: 1},
        data: [{value: point(c), candidate: c}],
    }));
}

const candidate_facts = (name, c) => ak.facts(name, [
    ["time", ak.interval(c.ms, c.ci_ms && c.ci_ms[0], c.ci_ms && c.ci_ms[1])],
    ["version", c.version || "-"],
    ["rate", [ak.known(c.tflops) ? ak.number(c.tflops) + " TFLOP/s" : null,
        ak.known(c.gbs) ? ak.number(c.gbs) + " GB/s" : null].filter(Boolean).join(", ") || "-"],
    ["roofline", ak.known(c.efficiency) ? ak.percent(c.efficiency) : "-"],
]);

ak.draw_run.roofline = function (host, run) {
    const roof = run.report.roofline;
    if (!roof || (!ak.known(roof.peak_tflops) && !ak.known(roof.bandwidth_gbs))) {
        host.append(ak.el("p", {class: "note"}, "The ceilings of the device are not in the record."));
        return;
    }
    if (!ak.known(roof.intensity)) {
        draw_bandwidth(host, run, roof);
        return;
    }
    const memories = bandwidths(roof), peak = ak.known(roof.peak_tflops) ? roof.peak_tflops : null;
    const ridges = peak ? memories.map((one) => peak * 1e3 / one.gbs) : [];
    const from = Math.min(roof.intensity, ...ridges) / 4;
    const to = Math.max(roof.intensity, ...ridges) * 4;
    const points = run.rows.filter((i) => run.ok(i) && ak.known(run.column("tflops", i)));
    const at = (x, gbs) => Math.min(x * gbs / 1e3, peak || Infinity);
    const slowest = points.map((i) => run.column("tflops", i))
        .concat(marks(run).map(([, c]) => c.tflops).filter(ak.known))
        .reduce((a, rate) => Math.min(a, rate), Infinity);
    const floor = Math.min(slowest, memories.length ? at(from, memories[0].gbs) : Infinity,
        peak || Infinity) / 2;
    const label = `Roofline at ${ak.number(roof.intensity)} flop per byte: the best reaches ` +
        `${ak.percent(roof.efficiency)} of the limit.`;
    ak.chart(host, 420, label, (colors, narrow) => ({
        legend: ak.legend(colors, {icon: undefined,
            data: ["configurations", ...marks(run).map(([name]) => name)]}),
        grid: {left: 8, right: 16, top: 54, bottom: 34, containLabel: true},
        tooltip: ak.hover(colors, (p) => p.data.candidate
            ? candidate_facts(p.seriesName, p.data.candidate)
            : Array.isArray(p.data) && p.data.length > 2 ? run.facts_of(p.data[2]) : null),
        xAxis: ak.log_axis(colors, from, to, ak.tick, {nameLocation: "middle", nameGap: 28,
            name: "arithmetic intensity, flop/byte", splitLine: {show: false}}),
        yAxis: ak.log_axis(colors, floor, 1.6 * (peak || at(to, memories[memories.length - 1].gbs)),
            ak.tick, {name: "TFLOP/s"}),
        series: [...memories.map((one) => ({
            name: one.name, type: "line", showSymbol: false, silent: true, symbol: "none",
            lineStyle: {color: colors.dim, width: one.gbs === roof.bandwidth_gbs ? 2.5 : 1.2,
                type: one.gbs === roof.bandwidth_gbs ? "solid" : "dashed"},
            itemStyle: {color: colors.dim},
            data: [[from, at(from, one.gbs)],
                ...(peak && peak * 1e3 / one.gbs > from ? [[peak * 1e3 / one.gbs, peak]] : []),
                [to, at(to, one.gbs)]],
            markPoint: {symbol: "circle", symbolSize: 0.1, silent: true, data: [{
                coord: [from, at(from, one.gbs)], label: {color: colors.text, fontSize: 11,
                    textBorderColor: colors.ground, textBorderWidth: 3,
                    position: "right", offset: [6, 10],
                    formatter: narrow ? one.name : `${one.name}: ${ak.number(one.gbs)} GB/s`}}]},
        })), peak ? {
            name: "arithmetic", type: "line", showSymbol: false, silent: true,
            lineStyle: {color: colors.dim, width: roof.bound === "compute" ? 2.5 : 1.2},
            itemStyle: {color: colors.dim}, data: [[from, peak], [to, peak]],
            markPoint: {symbol: "circle", symbolSize: 0.1, silent: true, data: [{
                coord: [to, peak], label: {color: colors.text, fontSize: 11, align: "right",
                    position: "left", offset: [0, -9],
                    formatter: `arithmetic: ${ak.number(peak)} TFLOP/s`}}]},
        } : null, {
            name: "configurations", ...ak.scatter(points.length, 5),
            itemStyle: {color: colors.series[0], opacity: 0.4},
            data: points.map((i) => [roof.intensity, run.column("tflops", i), i]),
        }, ...mark_series(run, colors, (c) => [roof.intensity, c.tflops])]
            .filter((one) => one !== null && (one.type === "line" || one.data.every((p) =>
                p.value === undefined || ak.known(p.value[1])))),
    }));
    host.append(ak.el("p", {class: "note"}, `Every configuration does the same work, so all stand at ` +
        `${ak.number(roof.intensity)} flop/byte, the traffic that cannot be avoided. The ceilings were ` +
        `measured on this device.`));
};

/* Draws the bandwidth instead of the roofline, for a kernel without arithmetic. */
function draw_bandwidth(host, run, roof) {
    const shown = marks(run).filter(([, c]) => ak.known(c.gbs)).reverse();
    if (shown.length === 0) {
        return;
    }
    ak.chart(host, 60 + 44 * shown.length, "Bandwidth reached, against the device's.", (colors) => ({
        grid: {left: 8, right: 60, top: 24, bottom: 30, containLabel: true},
        tooltip: ak.hover(colors, (p) => p.data.candidate
            ? candidate_facts(p.name, p.data.candidate) : null),
        xAxis: ak.axis(colors, {type: "value", name: "GB/s", nameLocation: "middle", nameGap: 26,
            max: (range) => Math.ceil(Math.max(range.max, roof.bandwidth_gbs) * 1.05)}),
        yAxis: ak.axis(colors, {type: "category", data: shown.map(([name]) => name),
            axisLabel: {color: colors.text}}),
        series: [{type: "bar", barMaxWidth: 22, itemStyle: {color: colors.series[0]},
            data: shown.map(([, c]) => ({value: c.gbs, candidate: c})),
            label: {show: true, position: "right", color: colors.text,
                formatter: (p) => ak.number(p.value, 4)},
            markLine: {symbol: "none", silent: true, lineStyle: {color: colors.text},
                data: [{xAxis: roof.bandwidth_gbs, label: {color: colors.text,
                    formatter: (roof.cache ? "a cache: " : "memory: ") +
                        ak.number(roof.bandwidth_gbs)}}]}}],
    }));
}

/* ---- importance ------------------------------------------------------------------------------ */

ak.draw_run.importance = function (host, run) {
    const impact = run.report.impact;
    const list = (impact.parameters || [])
        .filter((p) => ak.known(p.share) || ak.known(p.with_pairs)).reverse();
    if (impact.why_not || list.length === 0) {
        host.append(ak.el("p", {class: "note"}, impact.why_not
            ? `Shares are not given: ${impact.why_not}.` : "No parameter varied."));
        return;
    }
    const label = "Parameter importance: " + list.slice().reverse()
        .map((p) => `${p.parameter} ${ak.percent(p.with_pairs)}`).join(", ");
    ak.chart(host, 70 + 30 * list.length, label, (colors) => ({
        legend: ak.legend(colors),
        grid: {left: 8, right: 50, top: 34, bottom: 30, containLabel: true},
        tooltip: ak.hover(colors, (p) => ak.facts(p.name, [
            ["by itself", ak.percent(list[p.dataIndex].share)],
            ["with its pairs", ak.percent(list[p.dataIndex].with_pairs)],
            ["values", list[p.dataIndex].values.map((v) => v.value).join(", ")]])),
        xAxis: ak.axis(colors, {type: "value", name: "share of the variance of log time",
            nameLocation: "middle", nameGap: 26, axisLabel: {formatter: (v) => `${v * 100} %`}}),
        yAxis: ak.axis(colors, {type: "category", data: list.map((p) => p.parameter),
            axisLabel: {color: colors.text}}),
        series: [{name: "by itself", type: "bar", stack: "s", barMaxWidth: 18,
            itemStyle: {color: colors.series[0]}, data: list.map((p) => p.share)},
        {name: "in pairs with others", type: "bar", stack: "s",
            itemStyle: {color: colors.series[4 + (ak.is_dark() ? 0 : 1)]},
            data: list.map((p) => Math.max(p.with_pairs - p.share, 0)),
            label: {show: true, position: "right", color: colors.text,
                formatter: (p) => ak.percent(list[p.dataIndex].with_pairs)}}],
    }));
};

/* ---- failures -------------------------------------------------------------------------------- */

ak.draw_run.failures = function (host, run) {
    const failed = Object.entries(run.report.trials.failed).sort((a, b) => a[1] - b[1]);
    if (failed.length === 0) {
        host.append(ak.el("p", {class: "note"}, "No configuration failed."));
        return;
    }
    const words = (status) => status.replace(/_/g, " ");
    ak.chart(host, 60 + 34 * failed.length,
        failed.map(([s, n]) => `${n} ${words(s)}`).join(", "), (colors) => ({
            grid: {left: 8, right: 50, top: 10, bottom: 30, containLabel: true},
            tooltip: ak.hover(colors, (p) => ak.facts(p.name, [["configurations", p.value],
                ["share", ak.percent(p.value / run.report.trials.evaluated)]])),
            xAxis: ak.axis(colors, {type: "value", name: "configurations", nameLocation: "middle",
                nameGap: 26, minInterval: 1}),
            yAxis: ak.axis(colors, {type: "category", data: failed.map(([s]) => words(s)),
                axisLabel: {color: colors.text}}),
            series: [{type: "bar", barMaxWidth: 20, itemStyle: {color: colors.bad},
                data: failed.map(([, n]) => n),
                label: {show: true, position: "right", color: colors.text}}],
        }));
};

/* ---- time ------------------------------------------------------------------------------------ */

/* "rest" is the time outside of trials: starting, making the reference, the finish. */
const STAGES = ["propose", "compile", "check", "measure", "overhead", "rest"];

ak.draw_run.time = function (host, run) {
    const seconds = run.report.seconds;
    const total = STAGES.reduce((sum, stage) => sum + (seconds[stage] || 0), 0);
    if (!(total > 0)) {
        return;
    }
    const label = "Seconds by stage: " + STAGES.map((s) => `${s} ${ak.seconds(seconds[s])}`).join(", ");
    ak.chart(host, 110, label, (colors) => ({
        legend: ak.legend(colors),
        grid: {left: 8, right: 20, top: 34, bottom: 24, containLabel: true},
        tooltip: ak.hover(colors, (p) => ak.facts(p.seriesName, [["time", ak.seconds(p.value)],
            ["share", ak.percent(p.value / total)],
            ["a configuration", ak.seconds(p.value / Math.max(run.report.trials.evaluated, 1))]])),
        xAxis: ak.axis(colors, {type: "value", max: total, axisLabel: {formatter: ak.seconds_tick,
            showMaxLabel: false}, splitLine: {show: false}}),
        yAxis: {type: "category", data: [""], show: false},
        series: STAGES.map((stage, k) => ({name: stage, type: "bar", stack: "s", barWidth: 30,
            itemStyle: {color: colors.series[k]}, data: [seconds[stage] || 0],
            label: {show: seconds[stage] > total * 0.1, color: ak.is_dark() ? "#111" : "#fff",
                formatter: () => ak.percent(seconds[stage] / total, 0)}})),
    }));
    const wall = !ak.known(seconds.wall) ? "" : `The run took ${ak.seconds(seconds.wall)}` +
        (total > seconds.wall * 1.01 ? `; stages overlap, so their sum is ${ak.seconds(total)}.`
            : seconds.rest > 0 ? "; the rest is outside of trials: starting, the reference, the finish."
                : ".");
    host.append(ak.el("p", {class: "note"}, wall));
};

/* ---- clocks, power, temperature -------------------------------------------------------------- */

ak.draw_run.conditions = function (host, run) {
    const shown = [["sm_clock_mhz", "SM clock, MHz"], ["memory_clock_mhz", "memory clock, MHz"],
        ["power_watts", "power, W"], ["temperature_celsius", "temperature, °C"]]
        .filter(([name]) => run.has(name));
    if (shown.length === 0) {
        host.append(ak.el("p", {class: "note"},
            "This device tells nothing of its clocks, power and temperature while it measures."));
        return;
    }
    const each = 110, rows = run.rows.filter((i) => shown.some(([n]) => ak.known(run.column(n, i))));
    ak.chart(host, 40 + each * shown.length, "Means while each configuration was measured: " +
        shown.map(([, text]) => text).join("; "), (colors) => ({
        tooltip: ak.hover(colors, (p) => run.facts_of(p.data[2])),
        grid: shown.map((_, k) => ({left: 56, right: 16, top: 22 + each * k, height: each - 44})),
        xAxis: shown.map((_, k) => ak.axis(colors, {type: "value", gridIndex: k, min: 0,
            axisLabel: {show: k === shown.length - 1}, splitLine: {show: false},
            max: run.evaluation(run.count - 1)})),
        yAxis: shown.map(([, text], k) => ak.axis(colors, {type: "value", gridIndex: k, scale: true,
            name: text, nameTextStyle: {color: colors.dim, align: "left"}, nameGap: 6,
            splitNumber: 2})),
        series: shown.map(([name], k) => ({...ak.scatter(rows.length, 4), xAxisIndex: k, yAxisIndex: k,
            itemStyle: {color: colors.series[k]},
            data: rows.filter((i) => ak.known(run.column(name, i)))
                .map((i) => [run.evaluation(i), run.column(name, i), i])})),
    }));
};

/* ---- many sizes ------------------------------------------------------------------------------ */

/* Draws a row for each size that has a time. The axis of times is logarithmic if they differ much
   (ak.time_axis), because times at different sizes may differ by powers of ten. */
ak.draw_run.sizes = function (host, run) {
    const sizes = run.report.sizes.sizes.filter((s) => ak.known(s.ms));
    if (sizes.length === 0) {
        return;
    }
    const times = [["its own best", (s) => s.ms], ["the shared table", (s) => ak.known(s.loss)
        ? s.ms * s.loss : null], ["fastest library", (s) => s.library_ms]]
        .filter(([, of]) => sizes.some((s) => ak.known(of(s))));
    const all = times.flatMap(([, of]) => sizes.map(of)).filter(ak.known);
    const signs = ["circle", "diamond", "triangle"];
    ak.chart(host, 90 + 26 * sizes.length, "Time at each size: " + sizes.map((s) =>
        `${s.size} ${ak.ms(s.ms)}`).join("; "), (colors, narrow) => ({
        legend: ak.legend(colors, {icon: undefined}),
        grid: {left: 8, right: 24, top: 34, bottom: 34, containLabel: true},
        tooltip: ak.hover(colors, (p) => {
            const s = sizes[p.dataIndex];
            return ak.facts(s.size, [["its own best", ak.ms(s.ms)],
                ["the shared table's", ak.known(s.loss) ? ak.ms(s.ms * s.loss) : "-"],
                [s.library || "library", ak.ms(s.library_ms)],
                ["times the library's speed", !s.over_library ? "-"
                    : ak.ratio(s.over_library.ratio) + ({undecided: " (not decided)", tie: " (tie)"}[
                        s.over_library.verdict] || "")]]);
        }),
        xAxis: ak.time_axis(colors, Math.min(...all), Math.max(...all), {what: "time, ",
            nameLocation: "middle", nameGap: 28}),
        yAxis: ak.axis(colors, {type: "category", data: sizes.map((s) => s.size), inverse: true,
            axisLabel: {color: colors.text, width: narrow ? 110 : 260, overflow: "truncate",
                hideOverlap: false}, splitLine: {show: true, lineStyle: {color: colors.line,
                opacity: 0.4}}}),
        series: times.map(([name, of], k) => ({name, type: "scatter", symbol: signs[k],
            symbolSize: [10, 15, 11][k], z: 5 - k, itemStyle: {color: k === 1 ? "transparent"
                : colors.series[k], borderColor: colors.series[k], borderWidth: k === 1 ? 2 : 0},
            data: sizes.map((s) => [of(s), s.size])})),
    }));
};
