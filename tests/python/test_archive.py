"""The archive from Python: trials, the best of them, reports."""

import math
from xml.etree import ElementTree

import pytest

import autokernel as ak
from autokernel._frame import chart, ticks


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "own.db"
    result = ak.tune("softmax", size={"rows": 8, "cols": 32}, evals=3, libraries="none",
                     archive=path, progress=False)
    return path, result


def test_what_was_tried(tuned):
    archive = ak.archive(tuned[0])
    trials = archive.trials("softmax", size={"rows": 8, "cols": 32})
    assert len(trials) >= 3 and {"config", "status", "samples_ms"} <= set(trials[0])
    assert archive.trials("softmax", status="timed_out") == []
    assert archive.trials("softmax", size={"rows": 9, "cols": 32}) == []
    best = archive.best("softmax")
    assert len(best) == 1 and best[0]["size"] == "rows=8,cols=32"
    assert archive.best("matmul") == []
    assert archive.load("softmax", size={"rows": 8, "cols": 32}).kernel == "softmax"
    assert "own.db" in repr(archive)


def test_reports(tuned, tmp_path):
    path, result = tuned
    report = result.report()
    assert "softmax" in str(report) and report.markdown.startswith("# ")
    assert max(map(len, report.text.splitlines())) <= 80
    assert report.data["run"]["id"] == result.data["run"]
    page = open(report.save(tmp_path / "page.html"), encoding="utf-8").read()
    assert page.lower().startswith("<!doctype html>") and "https://" not in result._repr_html_()[:200]
    frame = result._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and "<script" not in frame  # it is escaped
    assert ak.archive(path).report().data["run"]["id"] == result.data["run"]


def test_chart():
    trials = [("ok", 2.0, "A=1"), ("compile_error", math.nan, "<b>"), ("ok", 8.0, "A=2"), ("ok", 1.0, "A=4")]
    svg = ElementTree.fromstring(chart(trials, "mat<mul>"))
    notes = [note.text for note in svg.iter("title")]
    assert notes == ["evaluation 1: 2.000 ms\nA=1", "evaluation 2: compile error\n<b>",
                     "evaluation 3: 8.000 ms\nA=2", "evaluation 4: 1.000 ms\nA=4"]
    assert svg.get("aria-label") == "mat<mul>: 4 configurations, 1 failed, the best 1.000 ms"
    marks = [float(mark.get("cy")) for mark in svg.iter("circle")]
    assert marks[1] < marks[0] < marks[2]  # upwards is slower
    # The line of the best so far falls where a faster one was found, and ends at the right.
    line, = [path.get("d") for path in svg.iter("path") if path.get("stroke-width") == "1.6"]
    across = [float(mark.get("cx")) for mark in svg.iter("circle")]
    assert line == f"M{across[0]} {marks[0]}V{marks[0]}H{across[1]}H{across[2]}V{marks[2]}H706"
    assert chart(trials[:2], "") == "" and chart([], "") == ""
    for low, high in ((1e-9, 1e6), (1.0, 1.02), (0.9, 1.1), (3e-3, 4e-3), (1.0, 40.0)):
        labels = ticks(low, high)
        assert 2 <= len(labels) <= 9 and all(low <= label <= high for label in labels)


def test_frame(tuned):
    pandas = pytest.importorskip("pandas")
    path, result = tuned
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(result.trials)
    page = frame._repr_html_()
    assert page.count("<svg") == 1 and page.count("<circle") == (frame.status == "ok").sum()
    assert f"of {len(frame.columns)} columns are shown" in page and frame.config[0] in page
    assert frame[["ms", "config"]].head(2)._repr_html_().count("<th>") == 5  # as pandas shows it
    assert "<svg" in frame.sort_values("ms")._repr_html_()
    stored = ak.archive(path).frame("softmax", run=result.data["run"])
    assert "<svg" in stored._repr_html_()
    other = pandas.concat([stored, stored.assign(size="rows=9", kernel="<script>")])
    assert "2 tasks; choose one" in other._repr_html_() and "<script>" not in other._repr_html_()
    assert "<svg" not in frame.iloc[:0]._repr_html_()


def test_what_is_not_there(tuned, tmp_path):
    with pytest.raises(ak.TuneError, match="there is no such archive"):
        ak.archive(tmp_path / "missing.db")
    with pytest.raises(ak.TuneError, match="unknown kernel"):
        ak.archive(tuned[0]).trials("no such kernel")
    with pytest.raises(ak.TuneError, match="autokernel: "):
        ak.archive(tuned[0]).report("0123456789abcdef").text
