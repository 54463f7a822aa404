/* talk.js: the conversation with a language model, and the outcomes of its proposals. */
"use strict";

/* Draws the gains of speed that a model predicted against the gains that were measured, both in
   %. */
function draw_predictions(host, calls) {
    const points = [];
    for (const call of calls) {
        for (const p of call.proposals) {
            if (p.outcome && typeof p.outcome.gain === "number" &&
                typeof p.expected_gain === "number") {
                points.push([p.expected_gain * 100, p.outcome.gain * 100, p]);
            }
        }
    }
    if (points.length === 0) {
        return;
    }
    const predicted = points.map(([x]) => x);
    const low = Math.min(0, ...predicted), high = Math.max(1, ...predicted) * 1.1;
    host.append(ak.el("h3", null, "Predictions and outcomes"));
    ak.chart(host, 340, `Predicted against measured gains of ${points.length} proposals.`,
        (colors) => ({
            grid: {left: 8, right: 20, top: 30, bottom: 34, containLabel: true},
            tooltip: ak.hover(colors, (p) => p.data[2] ? ak.facts(p.data[2].changes || "proposal", [
                ["predicted", ak.number(p.data[0], 3) + " %"],
                ["measured", ak.number(p.data[1], 3) + " %"],
                ["because", p.data[2].hypothesis || "-"]]) : null),
            xAxis: ak.axis(colors, {type: "value", name: "predicted gain of speed, %",
                nameLocation: "middle", nameGap: 28, min: Math.floor(low), max: Math.ceil(high)}),
            yAxis: ak.axis(colors, {type: "value", name: "measured, %"}),
            series: [{type: "line", silent: true, showSymbol: false,
                lineStyle: {color: colors.line, type: "dashed"}, data: [[low, low], [high, high]]},
            {type: "scatter", symbolSize: 9, itemStyle: {color: colors.series[0], opacity: 0.8},
                data: points}],
        }));
    host.append(ak.el("p", {class: "note"}, "Both against the configuration that the proposal was " +
        "derived from; on the dashed line a prediction came true."));
}

function draw_generations(host, generations) {
    const told = (generations || []).filter((g) => ak.known(g.best_speed));
    if (told.length === 0) {
        return;
    }
    const list = [{generation: "default", best_speed: 1, trials: 1, ok: 1}, ...told];
    host.append(ak.el("h3", null, "Learning curve"));
    ak.chart(host, 280, "Best speed over the default by generation: " +
        list.map((g) => ak.ratio(g.best_speed)).join(", "), (colors) => ({
        grid: {left: 8, right: 20, top: 30, bottom: 34, containLabel: true},
        tooltip: ak.hover(colors, (p) => ak.facts(p.dataIndex === 0 ? "the default"
            : `generation ${list[p.dataIndex].generation}`, [
            ["best so far", ak.ratio(list[p.dataIndex].best_speed) + " times the default"],
            ["proposals tried", String(list[p.dataIndex].trials)],
            ["of these successful", String(list[p.dataIndex].ok)]])),
        xAxis: ak.axis(colors, {type: "category", data: list.map((g) => g.generation),
            name: "generation", nameLocation: "middle", nameGap: 26}),
        yAxis: ak.axis(colors, {type: "value", name: "times the default", scale: true}),
        series: [{type: "line", symbol: "circle", symbolSize: 9, lineStyle: {color: colors.series[0], width: 2},
            itemStyle: {color: colors.series[0]}, data: list.map((g) => g.best_speed)}],
    }));
}

function outcome_words(outcome) {
    if (!outcome) {
        return "not tried";
    }
    const gain = typeof outcome.gain === "number"
        ? `, ${outcome.gain >= 0 ? "+" : ""}${ak.number(outcome.gain * 100, 3)} % speed`
            + (outcome.decided === false ? ", not decided" : "") : "";
    return outcome.status === "ok" ? ak.ms(outcome.ms) + gain
        : outcome.status.replace(/_/g, " ") + (outcome.reason ? ": " + outcome.reason : "");
}

function draw_call(call, texts) {
    const text_of = (at) => at === null ? null : texts[at];
    const block = (name, at) => text_of(at) === null ? null
        : ak.details(`${name}, ${ak.plural(text_of(at).length, "character")}`,
            ak.el("pre", {tabindex: "0"}, text_of(at)));
    const tokens = [["in", call.input_tokens], ["cached", call.cached_tokens],
        ["out", call.output_tokens], ["reasoning", call.reasoning_tokens]]
        .filter(([, n]) => n > 0).map(([name, n]) => `${ak.count(n)} ${name}`).join(", ");
    const uncounted = typeof call.input_tokens !== "number";
    const cost = typeof call.cost_usd !== "number" ? ""
        : uncounted && call.cost_usd === 0 ? ", no cost was counted"
        : `, ${uncounted ? "at most " : ""}$${call.cost_usd.toFixed(4)}`;
    const columns = [
        {name: "verdict", value: (p) => p.verdict || ""},
        {name: "changes", value: (p) => p.changes || ""},
        {name: "because", value: (p) => p.hypothesis || ""},
        ak.figure("predicted", (p) => p.expected_gain, (v) => typeof v === "number" ? ak.percent(v) : "-"),
        {name: "what came of it", value: (p) => outcome_words(p.outcome)},
    ];
    return ak.details(
        `generation ${call.generation}: ` + (call.error ? "no answer" :
            ak.plural(call.proposals.length, "proposal")) +
            (tokens ? `; tokens ${tokens}` : "; number of tokens not known") + cost +
            (call.seconds > 0 ? `; ${ak.seconds(call.seconds)}` : ""),
        call.error ? ak.el("p", {class: "bad"}, call.error) : null,
        call.proposals.length > 0 ? ak.table(columns, call.proposals,
            {caption: `proposals of generation ${call.generation}`}).element : null,
        block("reply", call.reply), block("what it was told of the search", call.state),
        block("brief", call.brief), block("instructions", call.system));
}

ak.draw_run.talk = function (host, run) {
    const talk = run.data.talk;
    draw_generations(host, run.data.worth && run.data.worth.generations);
    draw_predictions(host, talk.calls);
    const calibration = run.data.worth && run.data.worth.calibration;
    if (calibration && calibration.judged > 0) {
        host.append(ak.el("p", null, `Of ${ak.plural(calibration.judged, "prediction")} that can be ` +
            `judged, ${calibration.faster} became faster; the mean error is ` +
            `${ak.number(calibration.mean_error * 100, 3)} points.`));
    }
    const left_out = talk.calls.some((c) => c.reply === null && !c.error);
    host.append(...talk.calls.map((call) => draw_call(call, talk.texts)));
    if (left_out) {
        host.append(ak.el("p", {class: "note"},
            `Some texts are left out here; autokernel llm show ${run.report.run.id} prints all.`));
    }
};
