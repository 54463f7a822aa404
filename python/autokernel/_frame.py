"""Makes a pandas.DataFrame of trials that a notebook shows with a chart: times against evaluations,
and the best so far. The chart is plain SVG, which needs no script and no network."""

from __future__ import annotations

import functools
import html
import math
from typing import Any, Iterable, Sequence

from ._command import TuneError, counted

WIDTH, HEIGHT = 720, 230
LEFT, RIGHT, TOP, BOTTOM = 70, 14, 14, 40
# A frame of more columns than this is shown by those that people look at; it has them all.
COLUMNS_MAX = 14
SHOWN = ("n", "id", "status", "ms", "tflops", "gbs", "efficiency", "strategy", "config", "reason")
TASK = ("kernel", "implementation", "device", "size", "dtype", "choices")
# More marks than this have no text of their own, which would make the page large.
TOLD_MAX = 1000


def number(value: float) -> str:
    """Writes a number with four digits, as the reports do."""
    digits = 4 - 1 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.4g}" if digits < 0 or digits > 9 else f"{value:.{digits}f}"


def ticks(low: float, high: float) -> list[float]:
    """Chooses labels of a logarithmic axis: the fewest digits of each power of ten that give three."""
    found: list[float] = []
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [d * 10.0 ** p for p in powers for d in digits if low <= d * 10.0 ** p <= high]
        if len(found) >= 3:
            return found[::math.ceil(len(found) / 8)]
    return found if len(found) > 1 else [low, high]


def chart(trials: Sequence[tuple[str, float, str]], title: str) -> str:
    """Draws trials, each (status, ms, configuration), in the order of their evaluation. Returns ""
    if fewer than two have a time."""
    times = [ms for status, ms, _ in trials if status == "ok" and 0 < ms < math.inf]
    if len(times) < 2:
        return ""
    margin = 1.01 * (max(times) / min(times)) ** 0.06
    low, high = min(times) / margin, max(times) * margin
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x(n: float) -> float:
        return LEFT + (right - LEFT) * n / len(trials)

    def y(ms: float) -> float:
        return bottom - (bottom - TOP) * math.log(ms / low) / math.log(high / low)

    parts, best, line = [], math.inf, ""
    for ms in ticks(low, high):
        parts.append(f'<path d="M{LEFT} {y(ms):.1f}H{right}" stroke="currentColor" opacity=".15"/>'
                     f'<text x="{LEFT - 6}" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:.3g}</text>')
    for n, (status, ms, config) in enumerate(trials, 1):
        good = status == "ok" and 0 < ms < math.inf
        told = f"evaluation {n}: {number(ms) + ' ms' if good else status.replace('_', ' ')}\n{config}"
        note = f"<title>{html.escape(told)}</title>" if len(trials) <= TOLD_MAX else ""
        if not good:
            parts.append(f'<path d="M{x(n):.1f} {bottom}v-7" stroke="#d55e00" stroke-width="2">{note}'
                         "</path>")
            continue
        parts.append(f'<circle cx="{x(n):.1f}" cy="{y(ms):.1f}" r="2.6" fill="#3a8fd0">{note}</circle>')
        line += f"H{x(n):.1f}" if line else f"M{x(n):.1f} {y(ms):.1f}"
        if ms < best:
            line += f"V{y(ms):.1f}"
            best = ms
    line += f"H{right}"
    failed = sum(status != "ok" for status, _, _ in trials)
    legend = "● a configuration   ― the best so far" + ("   | one that failed" if failed else "")
    said = f"{title}: {counted(len(trials), 'configuration')}, {failed} failed, the best {number(best)} ms"
    return (f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(said)}" '
            f'style="width:100%;max-width:{WIDTH}px;height:auto;font:11px sans-serif;fill:currentColor">'
            f'{"".join(parts)}<path d="{line}" fill="none" stroke="currentColor" stroke-width="1.6"/>'
            f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="currentColor" opacity=".5"/>'
            f'<text x="{LEFT}" y="{bottom + 15}" text-anchor="middle">0</text>'
            f'<text x="{right}" y="{bottom + 15}" text-anchor="end">'
            f'{counted(len(trials), "evaluation")}</text>'
            f'<text x="{LEFT}" y="{HEIGHT - 6}">{legend}</text>'
            f'<text x="14" y="{(TOP + bottom) / 2}" text-anchor="middle" '
            f'transform="rotate(-90 14 {(TOP + bottom) / 2})">time, ms</text></svg>')


def described(frame: Any) -> str:
    """Returns what stands above the table of a frame: its chart, or how to get one."""
    if not {"status", "ms", "config"} <= set(frame.columns) or len(frame) == 0:
        return ""
    tasks = frame[[name for name in TASK if name in frame.columns]].drop_duplicates()
    if len(tasks) > 1:
        return (f"<p>{len(tasks)} tasks; choose one to see its chart, such as "
                "frame[frame[\"size\"] == frame[\"size\"].iloc[0]].</p>")
    order = frame.sort_values("id", kind="stable") if "id" in frame.columns else frame
    times = order["ms"].fillna(math.nan).astype(float)
    title = " ".join(str(value) for value in tasks.iloc[0] if value) if len(tasks.columns) else "trials"
    return chart(list(zip(map(str, order["status"]), times, map(str, order["config"]))), title)


@functools.lru_cache(maxsize=None)
def frame_class() -> type:
    """Makes the class, once pandas is wanted."""
    try:
        import pandas
    except ImportError as error:
        raise TuneError("a frame needs pandas: pip install pandas") from error

    class Trials(pandas.DataFrame):
        """A pandas.DataFrame of trials, which a notebook shows with a chart above it."""

        @property
        def _constructor(self) -> type:
            return Trials

        def _repr_html_(self) -> str:
            names = list(self.columns)
            few = [name for name in SHOWN if name in names and not self[name].isna().all()
                   and not (name == "id" and "n" in names)]
            shown = self if len(names) <= COLUMNS_MAX or not few else self[few]
            note = "" if shown is self else (f"<p>{len(few)} of {len(names)} columns are shown; "
                                             "frame.columns names them all.</p>")
            with pandas.option_context("display.max_colwidth", None):
                table = pandas.DataFrame(shown)._repr_html_() or ""
            return f"<div>{described(self)}{table}{note}</div>"

    return Trials


def frame_of(trials: Iterable[dict[str, Any]]) -> Any:
    """Returns trials as a pandas.DataFrame."""
    return frame_class()(list(trials))
