"""Reads the archive of trials: what was tried, the best of it, and the reports of its runs."""

from __future__ import annotations

import html
import json
import os
import tempfile
from typing import Any, Mapping, Optional

from ._bundle import Bundle
from ._command import PathLike, TuneError, kernel_word, run, text
from ._frame import frame_of


class Report:
    """A run's report: `text`, `markdown`, `data`, or `html`, one page with charts that needs no
    network. A notebook shows the page."""

    def __init__(self, command: list[str]) -> None:
        self._command = command

    @property
    def text(self) -> str:
        """Returns the report for a terminal of 80 columns."""
        return run(self._command + ["--format", "text"], columns=80)

    @property
    def markdown(self) -> str:
        """Returns the report in Markdown."""
        return run(self._command + ["--format", "md"])

    @property
    def html(self) -> str:
        """Returns the page, one file of HTML."""
        return run(self._command + ["--format", "html", "--output", "-"])

    @property
    def data(self) -> dict[str, Any]:
        """Returns the report as data (docs/formats.md, Reports)."""
        return json.loads(run(self._command + ["--json"]))

    def save(self, path: PathLike) -> str:
        """Writes the page to a file and returns its path."""
        run(self._command + ["--format", "html", "--output", os.fspath(path)])
        return os.fspath(path)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        # The frame keeps the page's scripts and styles apart from the notebook's.
        return (f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" '
                'style="width:100%;height:640px;border:0" title="autokernel report"></iframe>')


class Archive:
    """An archive of trials (`ak.archive()` opens the user's own).

    Every filter is the option of the command line with the same name: `size` is a number,
    "M=64,N=64" or a mapping; `device`, `dtype`, `impl`, `run` and `status` are texts.
    """

    def __init__(self, path: Optional[PathLike] = None) -> None:
        self.path = None if path is None else os.fspath(path)
        if self.path is not None and not os.path.exists(self.path):
            raise TuneError(f"{self.path}: there is no such archive")

    def __repr__(self) -> str:
        return f"<autokernel archive {self.path or 'of this user'}>"

    def _options(self, filters: Mapping[str, Any]) -> list[str]:
        command = ["--archive", self.path] if self.path else []
        for name, value in filters.items():
            if value is not None:
                option = "set" if name == "options" else name.replace("_", "-")
                command += [f"--{option}", str(text(value))]
        return command

    def trials(self, kernel: Optional[str] = None, **filters: Any) -> list[dict[str, Any]]:
        """Returns every trial that matches, failures included, in the order in which they were
        made. Each has, among others, config, status, reason, ms and samples_ms."""
        command = ["history"] + ([kernel_word(kernel)] if kernel else []) + ["--json"]
        return json.loads(run(command + self._options(filters)))

    def frame(self, kernel: Optional[str] = None, **filters: Any) -> Any:
        """Returns the trials as a pandas.DataFrame, which a notebook shows with a chart."""
        return frame_of(self.trials(kernel, **filters))

    def best(self, kernel: Optional[str] = None, **filters: Any) -> list[dict[str, Any]]:
        """Returns the fastest correct configuration of each kernel, size, type, set of options and
        device; an empty list if there is none."""
        command = ["best"] + ([kernel_word(kernel)] if kernel else []) + ["--json"]
        return json.loads(run(command + self._options(filters), accept=(0, 1)) or "[]")

    def report(self, run_id: Optional[str] = None) -> Report:
        """Returns the report of a run; without `run_id`, of the latest one."""
        command = ["report"] + ([run_id] if run_id else [])
        return Report(command + self._options({}))

    def load(self, kernel: str, **filters: Any) -> Bundle:
        """Makes a bundle of the best configuration of a kernel and opens it: a callable on
        arrays."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "best.akb")
            run(["export", kernel_word(kernel), "--format", "bundle", "--output", path]
                + self._options(filters))
            return Bundle(path)  # export has warned


def archive(path: Optional[PathLike] = None) -> Archive:
    """Opens an archive of trials: a file, or the user's own."""
    return Archive(path)
