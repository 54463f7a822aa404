"""The archive from Python: trials, the best of them, reports."""

import pytest

import autokernel as ak


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
    assert report.data["run"]["id"] == result.data["run"]
    page = open(report.save(tmp_path / "page.html"), encoding="utf-8").read()
    assert page.lower().startswith("<!doctype html>") and "https://" not in result._repr_html_()[:200]
    frame = result._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and "<script" not in frame  # it is escaped
    assert ak.archive(path).report().data["run"]["id"] == result.data["run"]


def test_what_is_not_there(tuned, tmp_path):
    with pytest.raises(ak.TuneError, match="there is no such archive"):
        ak.archive(tmp_path / "missing.db")
    with pytest.raises(ak.TuneError, match="unknown kernel"):
        ak.archive(tuned[0]).trials("no such kernel")
    with pytest.raises(ak.TuneError, match="autokernel: "):
        ak.archive(tuned[0]).report("0123456789abcdef").text
