/* study.js: the pages of studies and of simulations, which compare strategies. */
"use strict";

const AXES = {evaluations: "evaluations", seconds: "seconds", usd: "US dollars"};

/* Draws the mean quality of each arm, with its 95 % interval, over the evaluations, seconds or
   dollars spent. */
function draw_quality(host, study) {
    const known = Object.keys(AXES).filter((axis) =>
        study.arms.some((arm) => (arm.quality[axis] || []).length > 0));
    if (known.length === 0) {
        host.append(ak.el("p", {class: "note"}, "No run of any arm counts."));
        return;
    }
    let by = known[0];
    const label = "Quality reached by each arm: " + study.arms.map((arm) => {
        const curve = arm.quality[by] || [], last = curve[curve.length - 1];
        return `${arm.arm} ${last ? ak.number(last.quality, 3) : "-"}`;
    }).join(", ");
    const entry = ak.chart(host, 400, label, (colors) => {
        const arms = study.arms.map((arm, k) => ({...arm, curve: arm.quality[by] || [],
            color: colors.series[k % 8]})).filter((arm) => arm.curve.length > 0);
        const least = Math.min(0.95, ...arms.flatMap((arm) => arm.curve.map((at) => at.quality)));
        const points = (arm, value) => arm.curve.map((p) => [p.at, value(p)]);
        const band = (arm, value, area) => ({
            name: arm.arm, type: "line", stack: arm.arm, stackStrategy: "all", silent: true,
            symbol: "none", step: by === "evaluations" ? "end" : false, lineStyle: {opacity: 0},
            itemStyle: {color: arm.color}, data: points(arm, value),
            areaStyle: area ? {color: arm.color, opacity: 0.15} : undefined,
        });
        return {
            legend: ak.legend(colors, {data: arms.map((arm) => arm.arm)}),
            grid: {left: 8, right: 20, top: 54, bottom: 30, containLabel: true},
            tooltip: ak.hover(colors, (p) => {
                const at = arms[Math.floor(p.seriesIndex / 3)].curve[p.dataIndex];
                return ak.facts(p.seriesName, [[AXES[by], ak.number(at.at, 4)],
                    ["quality", ak.number(at.quality, 4) + (at.low === null ? ""
                        : ` (${ak.number(at.low, 4)} to ${ak.number(at.high, 4)})`)]]);
            }),
            xAxis: ak.axis(colors, {type: "value", name: AXES[by], nameLocation: "middle",
                nameGap: 26, min: 0, splitLine: {show: false}}),
            yAxis: ak.axis(colors, {type: "value", name: "quality: 1 is " +
                (study.reference_is === "optimum" ? "the optimum" : "the best of the study"),
            max: 1, min: Math.floor(least * 20) / 20}),
            series: arms.flatMap((arm) => [
                band(arm, (p) => p.low ?? p.quality, false),
                band(arm, (p) => p.low === null ? 0 : p.high - p.low, true),
                {name: arm.arm, type: "line", symbol: "circle", symbolSize: 5, z: 3,
                    step: by === "evaluations" ? "end" : false, itemStyle: {color: arm.color},
                    lineStyle: {color: arm.color, width: 2}, data: points(arm, (p) => p.quality)},
            ]),
        };
    });
    if (known.length > 1) {
        entry.box.before(ak.choice("horizontal axis", known.map((axis) => [axis, "by " + AXES[axis]]),
            by, (value) => {
                by = value;
                ak.draw(entry);
            }));
    }
    host.append(ak.el("p", {class: "note"}, "Quality is the speed of the best configuration so far, " +
        "relative to " + (study.reference_is === "optimum" ? "the optimum of the recording"
        : "the best that any run found") + "; bands are 95 % intervals over the seeds."));
}

function arm_table(study) {
    const asked = study.arms.some((a) => a.calls_mean > 0);
    const last = (arm) => (arm.quality.evaluations || []).slice(-1)[0];
    return ak.table([
        {name: "arm", value: (a) => a.arm},
        {name: "runs", right: true, value: (a) => a.runs},
        ak.figure("quality", (a) => last(a) ? last(a).quality : null, (v) => ak.number(v, 4)),
        {name: "95 % interval", right: true, value: (a) => last(a) ? last(a).low : null,
            cell: (a) => last(a) && last(a).low !== null
                ? `${ak.number(last(a).low, 4)} .. ${ak.number(last(a).high, 4)}` : "-"},
        {name: "reached 1", right: true, value: (a) => a.reached_reference},
        ak.figure("evaluations", (a) => a.evaluations_mean, (v) => ak.number(v, 3)),
        ak.figure("failed", (a) => a.failed_mean, (v) => ak.number(v, 2)),
        ak.figure("time", (a) => a.seconds_mean, ak.seconds),
        ...asked ? [ak.figure("questions", (a) => a.calls_mean, (v) => ak.number(v, 3)),
        {name: "$ a run", right: true, value: (a) => a.usd_mean,
            cell: (a) => (a.usd_mean > 0 && a.tokens_mean === null ? "at most " : "") +
                ak.number(a.usd_mean, 3)}] : [],
    ], study.arms, {caption: "What each arm reached; means over its runs", sort: [2, true]}).element;
}

const study_header = (page, title, words, contents) =>
    page_header(title, words, page.ended ? [`ended ${ak.when(page.ended)} UTC`] : [], contents);

function repeat_section(add, page) {
    add("again", "How to repeat it", (host) => host.append(
        page.result.command ? ak.el("p", {class: "config"}, ak.el("code", null, ak.command(page.result.command)),
            ak.copy_button(page.result.command)) : "",
        ak.el("p", {class: "note"}, `Made with autokernel ${page.autokernel}.`)));
}

ak.draw_page.study = function (main, page) {
    const study = page.result, contents = ak.el("nav", {"aria-label": "sections"});
    const add = (id, title, fill) => section(main, contents, id, title, fill);
    main.replaceChildren(study_header(page, "Study",
        [study.kernel, study.size].filter(Boolean).join(" ") + ` on ${study.device}`, contents));
    add("quality", "How good after how much", (host) => {
        host.append(ak.el("p", null, `${ak.plural(study.arms.length, "arm")}, each with ` +
            `${ak.plural(study.seeds, "seed")} and ${ak.plural(study.evaluations, "evaluation")} a run` +
            (study.model ? `, language model ${study.model}.` : ".")));
        draw_quality(host, study);
    });
    add("arms", "The arms", (host) => {
        host.append(arm_table(study));
        study.arms.filter((arm) => arm.fell_back > 0).forEach((arm) => host.append(
            ak.el("p", {class: "warning"}, `${arm.arm}: ${ak.plural(arm.fell_back, "run")} left out, ` +
                `because the model was not in charge: ${arm.fell_back_because}`)));
    });
    repeat_section(add, page);
};

/* ---- simulations ----------------------------------------------------------------------------- */

const base_name = (path) => path.replace(/^.*\//, "");

function draw_scores(host, strategies) {
    const scored = strategies.filter((s) => s.recordings.some((r) => typeof r.score === "number"));
    if (scored.length === 0) {
        host.append(ak.el("p", {class: "note"}, "These simulations were not scored (--score)."));
        return;
    }
    const names = scored[0].recordings.map((r) => base_name(r.recording));
    const rows = names.length > 1 ? [...names, "mean of all"] : names;
    ak.chart(host, 90 + rows.length * (14 + 16 * scored.length), "Scores: " + scored.map((s) =>
        `${s.strategy} ${ak.number(s.score, 3)}`).join(", "), (colors) => ({
        legend: ak.legend(colors),
        grid: {left: 8, right: 50, top: 34, bottom: 30, containLabel: true},
        tooltip: ak.hover(colors, (p) => {
            const r = scored[p.seriesIndex].recordings[p.dataIndex];
            return ak.facts(p.seriesName, [["score", ak.number(p.value, 3)],
                ...r ? [["recording", r.recording], ["best", ak.number(r.best)],
                    ["optimum", ak.number(r.optimum)],
                    ["evaluations", ak.number(r.evaluations, 4)]] : []]);
        }),
        xAxis: ak.axis(colors, {type: "value", name: "score: 1 is the optimum at once, 0 is random " +
            "search", nameLocation: "middle", nameGap: 26, max: 1}),
        yAxis: ak.axis(colors, {type: "category", data: rows, inverse: true,
            axisLabel: {color: colors.text, width: 220, overflow: "truncate"}}),
        series: scored.map((s, k) => ({name: s.strategy, type: "bar", barMaxWidth: 14,
            itemStyle: {color: colors.series[k % 8]},
            label: {show: true, position: "right", color: colors.text, fontSize: 11,
                formatter: (p) => ak.number(p.value, 3)},
            data: [...s.recordings.map((r) => r.score), ...(names.length > 1 ? [s.score] : [])]})),
    }));
}

ak.draw_page.simulate = function (main, page) {
    const strategies = page.result.strategies, contents = ak.el("nav", {"aria-label": "sections"});
    const add = (id, title, fill) => section(main, contents, id, title, fill);
    const recordings = strategies[0].recordings;
    main.replaceChildren(study_header(page, "Simulation",
        `of ${ak.plural(strategies.length, "strategy").replace("strategys", "strategies")} on ` +
        ak.plural(recordings.length, "recording"), contents));
    add("scores", "Scores", (host) => draw_scores(host, strategies));
    add("results", "Results", (host) => host.append(ak.table([
        {name: "recording", value: (r) => base_name(r.recording),
            cell: (r) => ak.el("span", {title: r.recording}, base_name(r.recording))},
        {name: "strategy", value: (r) => r.strategy},
        {name: "repeats", right: true, value: (r) => r.repeats},
        ak.figure("score", (r) => r.score, (v) => ak.number(v, 3)),
        ak.figure("best", (r) => r.best, ak.number),
        ak.figure("optimum", (r) => r.optimum, ak.number),
        ak.figure("found after", (r) => r.best_seconds, ak.seconds),
        ak.figure("evaluations", (r) => r.evaluations, (v) => ak.number(v, 4)),
        ak.figure("failed", (r) => r.failed, (v) => ak.number(v, 2)),
        ak.figure("simulated", (r) => r.seconds, ak.seconds),
        ak.figure("ms a proposal", (r) => r.ms_per_proposal, (v) => ak.number(v, 2)),
    ], strategies.flatMap((s) => s.recordings.map((r) => ({...r, strategy: s.strategy}))),
    {caption: "Means over the repeats", filter: "filter the results"}).element));
    add("recordings", "Recordings", (host) => host.append(ak.table([
        {name: "recording", value: (r) => base_name(r.recording)},
        {name: "kernel", value: (r) => r.kernel}, {name: "device", value: (r) => r.device},
        {name: "size", value: (r) => r.size}, {name: "objective", value: (r) => r.objective},
        ak.figure("configurations", (r) => r.configurations, ak.count),
        ak.figure("ok", (r) => r.ok, ak.count),
        ak.figure("median", (r) => r.median, ak.number),
        ak.figure("time of a search", (r) => r.cutoff_seconds, ak.seconds),
    ], recordings, {caption: "The recordings"}).element));
    repeat_section(add, page);
};
