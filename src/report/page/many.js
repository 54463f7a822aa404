/* many.js: charts with a mark for each of thousands of trials. ECharts draws the axes and handles
   selections. The marks are painted on a separate canvas, because one ECharts object for each mark
   would take seconds. */
"use strict";

/* Puts a layer, a canvas with marks, under a chart that was just drawn. `marks` has
       count                           the number of marks
       paint(context, width, height)   paints all marks
       place(k)                        returns the pixel [x, y] of the tooltip of mark k
       pick(x, y)                      returns the mark at a pixel; -1: none
       facts(k)                        returns the element that the tooltip of mark k shows
       click(k)                        is called when mark k is clicked, or chosen with Enter */
function add_layer(entry, marks) {
    const {chart, box} = entry, canvas = ak.el("canvas", {class: "layer"});
    box.prepend(canvas);
    function show(k) {
        const [x, y] = marks.place(k);
        chart.dispatchAction({type: "showTip", x, y, tooltip: {formatter: () => marks.facts(k)}});
    }
    function paint() {
        const width = chart.getWidth(), height = chart.getHeight(), ratio = devicePixelRatio || 1;
        canvas.width = width * ratio;
        canvas.height = height * ratio;
        canvas.style.width = width + "px";
        canvas.style.height = height + "px";
        const context = canvas.getContext("2d");
        context.scale(ratio, ratio);
        marks.paint(context, width, height);
    }
    const screen = chart.getZr();
    screen.on("mousemove", (event) => {
        const k = marks.pick(event.offsetX, event.offsetY);
        if (k < 0) {
            chart.dispatchAction({type: "hideTip"});
            return;
        }
        chart.dispatchAction({type: "showTip", x: event.offsetX, y: event.offsetY,
            tooltip: {formatter: () => marks.facts(k)}});
    });
    screen.on("globalout", () => chart.dispatchAction({type: "hideTip"}));
    screen.on("click", (event) => {
        const k = marks.pick(event.offsetX, event.offsetY);
        if (k >= 0) {
            marks.click(k);
        }
    });
    /* Browsers do not print the canvas of marks, so its image is copied to the chart's own canvas,
       under what that shows. */
    function print() {
        const context = chart.getZr().painter.getLayer(0).ctx;
        context.save();
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.globalCompositeOperation = "destination-over";
        context.drawImage(canvas, 0, 0, context.canvas.width, context.canvas.height);
        context.restore();
    }
    entry.layer = {count: marks.count, show, paint, print, click: marks.click};
    paint();
}

/* The tooltip options of a chart with a layer, which finds the mark under the pointer itself. */
const layer_hover = (colors) => ({...ak.hover(colors, () => null), triggerOn: "none"});

/* ---- parallel coordinates -------------------------------------------------------------------- */

const BANDS = 24, LINES_OF_A_PATH = 40, NEAR_PIXELS = 6;

/* Returns the colour, as "#rrggbb", at the fraction `part` (0 to 1) of a scale of colours. */
function blend(scale, part) {
    const at = Math.min(Math.max(part, 0), 1) * (scale.length - 1), k = Math.min(Math.floor(at),
        scale.length - 2);
    const channel = (color, c) => parseInt(color.slice(1 + 2 * c, 3 + 2 * c), 16);
    return "#" + [0, 1, 2].map((c) => Math.round(channel(scale[k], c) +
        (at - k) * (channel(scale[k + 1], c) - channel(scale[k], c))).toString(16).padStart(2, "0"))
        .join("");
}

/* Draws parallel coordinates of the successful trials, over at most 24 parameters with several
   values; nothing if there is no such parameter or fewer than two such trials. When axes are
   brushed, it calls chosen() with the selected rows, or null for all. Returns a function that
   highlights the rows it is given; null: all. */
ak.draw_run.parallel = function (host, run, chosen) {
    const varied = run.varied.slice(0, 24);
    const rows = run.rows.filter(run.ok);
    if (varied.length === 0 || rows.length < 2) {
        return () => {};
    }
    /* Rows from slow to fast, so that the fastest are painted last, above the others. */
    const order = rows.slice().sort((a, b) => run.ms(b) - run.ms(a));
    const times = order.map(run.ms), low = times[times.length - 1];
    /* The slowest tenth of the rows share the last colour. */
    const high = times[Math.floor(times.length / 10)];
    const values = varied.map(run.ordered);
    /* For each parameter and row: the index of the value on the axis; -1: the configuration lacks
       the parameter. */
    const at = varied.map((p, dim) => {
        const index = new Map(values[dim].map((value, k) => [value, k]));
        return order.map((i) => index.has(run.value(i, p)) ? index.get(run.value(i, p)) : -1);
    });
    let lit = null, wait = null;
    const scroll = ak.el("div", {class: "scroll"}), wide = ak.el("div", {class: "wide"});
    wide.style.minWidth = `${64 * (varied.length + 1)}px`;
    scroll.append(wide);
    host.append(scroll);

    /* Makes the `marks` of add_layer. `lines[k]` holds x and y of each corner of line k, in
       pixels. */
    function marks_of(chart, colors) {
        let lines = [], active = null;
        const axes = () => chart.getModel().queryComponents({mainType: "parallelAxis"});
        function look() {
            const place = chart.getModel().getComponent("parallel").coordinateSystem;
            const point = (value, dim) => place.dataToPoint(value, place.dimensions[dim]);
            const points = values.map((list, dim) => list.map((_, k) => point(k, dim)));
            lines = order.map((_, k) => {
                const line = [];
                at.forEach((column, dim) => {
                    if (column[k] >= 0) {
                        line.push(...points[dim][column[k]]);
                    }
                });
                line.push(...point(times[k], varied.length));
                return line;
            });
            const brushed = axes().map((axis, dim) => [axis, dim])
                .filter(([axis]) => axis.activeIntervals.length > 0);
            active = brushed.length === 0 ? null : order.map((_, k) => brushed.every(([axis, dim]) =>
                axis.getActiveState(dim < varied.length ? at[dim][k] : times[k]) === "active"));
        }
        const shown = (k) => (active === null || active[k]) && (lit === null || lit.has(order[k]));
        const all = () => active === null && lit === null;
        return {
            selected: () => active === null ? null : order.filter((_, k) => active[k]),
            count: order.length,
            facts: (k) => run.facts_of(order[k]),
            place: (k) => lines[k].slice(-2),
            click: (k) => run.show(order[k]),
            paint(context) {
                look();
                const alpha = !all() ? 0.8 : order.length > 2000 ? 0.2 : order.length > 200 ? 0.35 : 0.6;
                const band = (k) => Math.floor((BANDS - 1) * Math.min((times[k] - low) /
                    (Math.max(high, low * 1.0001) - low), 1));
                const stroke = (from, to, color, width, opacity) => {
                    context.beginPath();
                    for (let k = from; k < to; k++) {
                        context.moveTo(lines[k][0], lines[k][1]);
                        for (let c = 2; c < lines[k].length; c += 2) {
                            context.lineTo(lines[k][c], lines[k][c + 1]);
                        }
                    }
                    context.strokeStyle = color;
                    context.lineWidth = width;
                    context.globalAlpha = opacity;
                    context.stroke();
                };
                /* If there are many lines, neighbours of one colour are stroked as one path, which
                   is faster. Lines within a path do not add up where they cross, so a path has few
                   lines. */
                const limit = order.length > 1000 ? LINES_OF_A_PATH : 1;
                const thin = order.length > 1000 ? 0.6 : 1.2;
                for (let k = 0, end; k < order.length; k = end) {
                    const bright = shown(k);
                    for (end = k + 1; end < order.length && end - k < limit && shown(end) === bright &&
                        band(end) === band(k);) {
                        end++;
                    }
                    stroke(k, end, blend(colors.scale, band(k) / (BANDS - 1)),
                        bright && !all() ? 1.6 : thin, bright ? alpha : 0.02);
                }
            },
            pick(x, y) {
                let best = -1, least = NEAR_PIXELS;
                for (let k = order.length - 1; k >= 0; k--) {
                    const line = lines[k];
                    for (let c = 0; c + 3 < line.length; c += 2) {
                        if (line[c] <= x && x <= line[c + 2]) {
                            const part = (x - line[c]) / (line[c + 2] - line[c]);
                            const far = Math.abs(line[c + 1] + part * (line[c + 3] - line[c + 1]) - y);
                            if (far < least && shown(k)) {
                                [best, least] = [k, far];
                            }
                            break;
                        }
                    }
                }
                return best;
            },
        };
    }

    const entry = ak.chart(wide, 380, `Parallel coordinates of ${rows.length} successful configurations over ` +
        varied.map((p) => run.parameters[p].name).join(", ") + " and the time; the filter of the table " +
        "below selects the same by keyboard.", (colors) => ({
        tooltip: layer_hover(colors),
        visualMap: {show: true, type: "continuous", min: low, max: Math.max(high, low * 1.0001),
            inRange: {color: colors.scale}, orient: "horizontal", hoverLink: false,
            /* If the chart is wider than the screen, the scale stands at the left, where it is
               visible without scrolling. */
            left: wide.clientWidth > scroll.clientWidth ? 34 : "center", bottom: 0, itemHeight: 120, itemWidth: 12, calculable: false,
            text: [ak.ms(high, 3), ak.ms(low, 3)], textStyle: {color: colors.dim}},
        parallel: {left: 34, right: 54, top: 52, bottom: 64,
            axisExpandable: false, parallelAxisDefault: {
                nameTextStyle: {color: colors.text, fontSize: 11}, nameTruncate: {maxWidth: 122},
                axisLine: {lineStyle: {color: colors.dim}}, axisTick: {show: false},
                axisLabel: {color: colors.text, fontSize: 11, textBorderColor: colors.ground,
                    textBorderWidth: 3},
                areaSelectStyle: {width: 18, color: colors.accent, opacity: 0.25}}},
        parallelAxis: [...varied.map((p, dim) => ({dim, name: run.parameters[p].name,
            nameGap: dim % 2 ? 26 : 10, type: "category", data: values[dim],
            /* The first axis has no room to its left, so a long name is aligned there. */
            ...(dim === 0 && run.parameters[p].name.length > 8 ? {nameTruncate: {maxWidth: 92}, nameTextStyle: {color: colors.text,
                fontSize: 11, align: "left", padding: [0, 0, 0, -28]}} : {}),
            /* Labels may be as wide as the distance to the next axis. */
            axisLabel: {width: wide.clientWidth / (varied.length + 1) - 14, overflow: "truncate"}})),
        {...ak.time_axis(colors, low, times[0]), min: low, max: times[0], splitLine: undefined,
            dim: varied.length, nameGap: varied.length % 2 ? 26 : 10, inverse: true,
            nameLocation: "start"}],
        series: [],
    }), (chart, drawn, colors) => {
        const marks = marks_of(chart, colors);
        add_layer(drawn, marks);
        chart.on("axisareaselected", () => {
            drawn.layer.paint();
            chosen(marks.selected());
        });
    });
    entry.lit = () => lit; /* the rows that are highlighted; null: all */
    /* The filter of the table calls this, so that the configurations it finds are highlighted here.
       The filter works by keyboard, unlike brushing. */
    return (found) => {
        lit = found === null ? null : new Set(found);
        clearTimeout(wait);
        wait = setTimeout(() => entry.layer && entry.layer.paint(), 150);
    };
};

/* ---- the timeline ---------------------------------------------------------------------------- */

/* Returns {lanes, list}: the names of the lanes (compile workers, then devices) and what happened
   in each, as [lane, from, to, kind, row] with times in seconds and `kind` as an index into SPANS;
   `row` is -1 for what came after the search. */
function spans(run) {
    const devices = run.data.trials.devices || [run.report.run.device], list = [];
    /* Compile workers that compiled nothing have no lane. */
    const numbers = run.has("compile_worker") ? [...new Set(run.rows.map((i) =>
        run.column("compile_worker", i)))].filter((k) => k > 0).sort((a, b) => a - b) : [];
    const lane_of = new Map(numbers.map((k, at) => [k, at])), workers = numbers.length;
    const lane = (i) => Math.max(run.data.trials.devices ? run.column("device", i) : 0, 0);
    const add = (at, from, to, kind, i) => to > from && list.push([at, Math.max(from, 0), to, kind, i]);
    for (const i of run.rows) {
        const end = run.end_s(i), measure = run.column("measure_s", i) || 0;
        const check = run.column("check_s", i) || 0, compile = run.column("compile_s", i) || 0;
        const worker = workers > 0 ? lane_of.get(run.column("compile_worker", i)) : undefined;
        if (worker !== undefined) {
            const compiled = end - (run.column("compiled_before_s", i) || 0);
            add(worker, compiled - compile, compiled, 0, i);
        }
        add(workers + lane(i), end - measure - check, end - measure, 1, i);
        add(workers + lane(i), end - measure, end, 2, i);
    }
    const r = run.report.run, last = run.end_s(run.count - 1);
    const whole = r.ended ? (Date.parse(r.ended) - Date.parse(r.started)) / 1000 : 0;
    if (whole > last * 1.01 && run.has("end_s")) {
        add(workers, last, whole, 3, -1);
    }
    const names = numbers.map((k) => `compiler ${k}`);
    return {lanes: [...names, ...devices.map((name) => name.replace(/^sim:.*\//, "sim:"))], list};
}

const SPANS = ["compile", "check", "measure", "after the search"];

ak.draw_run.timeline = function (host, run) {
    if (!run.has_clock || !run.has("measure_s")) {
        return;
    }
    const {lanes, list} = spans(run);
    if (list.length === 0) {
        return;
    }
    const shown = SPANS.filter((_, kind) => list.some((b) => b[3] === kind));
    const color_of = (colors, kind) => kind === 3 ? colors.dim : colors.series[1 + kind];
    const facts_of = ([, from, to, kind, i]) => i < 0
        ? ak.facts("after the search", [["took", ak.seconds(to - from)],
            ["what", "checks of the finalists and the comparison with the others"]])
        : ak.facts(`${SPANS[kind]}, evaluation ${run.evaluation(i)}`, [
            ["from", ak.seconds(from)], ["took", ak.seconds(to - from)],
            ["became", run.ok(i) ? ak.ms(run.ms(i)) : run.status(i).replace(/_/g, " ")],
            ["configuration", run.config(i)]]);

    function marks_of(chart, colors) {
        const off = new Set();
        /* Returns the pixel of a time and a lane. The axis of time is linear, so x_of() need not
           ask ECharts again. */
        const point = (x, lane) => chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [x, lane]);
        let zero = 0, scale = 0;
        const x_of = (seconds) => zero + scale * seconds;
        return {
            off, count: list.length,
            facts: (k) => facts_of(list[k]),
            place: (k) => [Math.max(x_of(list[k][1]), 8), point(0, list[k][0])[1]],
            click: (k) => list[k][4] >= 0 && run.show(list[k][4]),
            paint(context) {
                const grid = chart.getModel().getComponent("grid").coordinateSystem.getRect();
                zero = point(0, 0)[0];
                scale = point(1, 0)[0] - zero;
                const rows = lanes.map((_, lane) => point(0, lane)[1]);
                context.beginPath();
                context.rect(grid.x, grid.y, grid.width, grid.height);
                context.clip();
                for (const [lane, from, to, kind] of list) {
                    if (!off.has(SPANS[kind])) {
                        context.fillStyle = color_of(colors, kind);
                        context.globalAlpha = kind === 3 ? 0.35 : 1;
                        context.fillRect(x_of(from), rows[lane] - 11,
                            Math.max(x_of(to) - x_of(from), 0.5), 22);
                    }
                }
            },
            pick: (x, y) => list.findLastIndex(([lane, from, to, kind]) => !off.has(SPANS[kind]) &&
                Math.abs(point(0, lane)[1] - y) < 11 && x_of(from) - 1 <= x && x <= x_of(to) + 1),
        };
    }

    host.append(ak.el("h3", null, "When"));
    ak.chart(host, 90 + 34 * lanes.length, "Timeline: when each compile worker compiled and when each " +
        "device checked and measured.",
        (colors, narrow) => ({
            legend: ak.legend(colors, {data: shown}),
            grid: {left: 8, right: 20, top: 30, bottom: 30, containLabel: true},
            tooltip: layer_hover(colors),
            dataZoom: narrow ? [] : [{type: "inside", filterMode: "none"}],
            xAxis: ak.axis(colors, {type: "value", name: "seconds since the beginning",
                nameLocation: "middle", nameGap: 26, min: 0, splitLine: {show: false},
                max: list.reduce((a, b) => Math.max(a, b[2]), 0), axisLabel: {showMaxLabel: false}}),
            yAxis: ak.axis(colors, {type: "category", data: lanes, inverse: true,
                axisLabel: {color: colors.text, width: narrow ? 90 : 220, overflow: "truncate",
                    hideOverlap: false}}),
            /* These series have no data and only give the legend its names and colours. */
            series: shown.map((name) => ({name, type: "scatter", data: [], silent: true,
                itemStyle: {color: color_of(colors, SPANS.indexOf(name)),
                    opacity: name === SPANS[3] ? 0.35 : 1}})),
        }), (chart, drawn, colors) => {
            const marks = marks_of(chart, colors);
            add_layer(drawn, marks);
            chart.on("datazoom", () => drawn.layer.paint());
            chart.on("legendselectchanged", ({selected}) => {
                marks.off.clear();
                Object.keys(selected).filter((name) => !selected[name]).forEach((name) =>
                    marks.off.add(name));
                drawn.layer.paint();
            });
        });
};
