"""Tunes by the executable: progress comes from its events, the result from its JSON."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Union

from ._archive import Archive, Report
from ._bundle import Bundle, load
from ._command import PathLike, TuneError, complaint, executable, run, text
from ._frame import frame_of

Progress = Callable[[dict[str, Any]], None]
_prctl = ctypes.CDLL(None).prctl


@dataclass(repr=False)
class Result:
    """What a run found. `best` has config, ms, ci_ms, tflops, gbs, speedup; `data` is the whole
    object that `autokernel tune --json` prints (docs/formats.md)."""
    kernel: str
    data: dict[str, Any]
    trials: list[dict[str, Any]]
    archive: Optional[str] = None
    why: str = ""  # why nothing was found, as the executable said it

    @property
    def best(self) -> Optional[dict[str, Any]]:
        return self.data["best"]

    def __repr__(self) -> str:
        best = self.best
        found = f"{best['ms']:.4g} ms with {best['config']}" if best else "no configuration worked"
        return f"<autokernel.Result of {self.kernel}: {found}>"

    @property
    def config(self) -> dict[str, Any]:
        if self.best is None:
            raise TuneError(self.why or "no configuration worked")
        return self.best["config"]

    def export(self, path: Optional[PathLike] = None, format: str = "bundle") -> str:
        """Writes the winner as a bundle (or in another format: "c", "best"); returns the path."""
        command = ["export", self.kernel, "--run", self.data["run"], "--format", format, "--json"]
        command += ["--output", os.fspath(path)] if path is not None else []
        command += ["--archive", self.archive] if self.archive else []
        return json.loads(run(command))["path"]

    def load(self) -> Bundle:
        """Makes a bundle of the winner and opens it: a callable on NumPy arrays."""
        with tempfile.TemporaryDirectory() as folder:
            return load(self.export(os.path.join(folder, "best.akb")))

    def report(self) -> Report:
        """Returns the report of the run; a notebook shows it as a page with charts."""
        return Archive(self.archive).report(self.data["run"])

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def to_frame(self) -> Any:
        """Returns the trials as a pandas.DataFrame, which a notebook shows with a chart."""
        return frame_of(self.trials)


def _bar(event: dict[str, Any]) -> None:
    """Shows the progress in one line that it rewrites, in a terminal and in a notebook alike. In a
    pipe or a file it shows nothing."""
    if not sys.stderr.isatty() and "ipykernel" not in sys.modules:
        return
    if event.get("event") == "trial":
        best = event.get("best_ms")
        shown = f", best {best:.4g} ms" if best else ""
        print(f"\r{event.get('n')}/{event.get('evaluations') or '?'} configurations{shown}   ",
              end="", file=sys.stderr, flush=True)
    elif event.get("event") == "end":
        print(file=sys.stderr)


def _follow(path: str, trials: list[dict[str, Any]], progress: Optional[Progress],
            over: threading.Event) -> None:
    """Reads events as they are written."""
    rest = ""
    with open(path, encoding="utf-8") as events:
        while True:
            ending = over.is_set()
            rest += events.read()
            *lines, rest = rest.split("\n")
            for line in lines:
                event = json.loads(line)
                if event.get("event") == "trial":
                    trials.append(event)
                if progress is not None:
                    progress(event)
            if ending:
                return
            over.wait(0.1)


def _end_with_parent() -> None:
    """Runs in the child, which is in a session of its own, so that a Ctrl-C of the terminal reaches it
    only once, from here: a second one would end it without a result."""
    _prctl(1, signal.SIGINT, 0, 0, 0)  # PR_SET_PDEATHSIG


def tune(kernel: PathLike, *, size: Union[None, str, int, Mapping[str, int]] = None,
         dtype: Optional[str] = None, options: Union[None, str, Mapping[str, Any]] = None,
         device: Optional[str] = None, strategy: Optional[str] = None,
         evals: Optional[int] = None, time: Union[None, str, float] = None,
         seed: Optional[int] = None, archive: Optional[PathLike] = None,
         libraries: Optional[str] = None,
         progress: Union[bool, Progress] = True) -> Result:
    """Searches for the fastest correct configuration of a kernel (a built-in one or a folder).

    `size` is a number, "M=64,N=64" or a mapping; `time` seconds or "10m"; `progress` False, or a
    function that gets every event (docs/formats.md, Events). Ctrl-C ends the search and returns the
    best so far.
    """
    command = [executable(), "tune", os.fspath(kernel), "--json", "--quiet"]
    for name, value in (("size", text(size)), ("dtype", dtype), ("set", text(options)),
                        ("device", device), ("strategy", strategy), ("evals", text(evals)),
                        ("time", text(time)), ("seed", text(seed)), ("libraries", libraries),
                        ("archive", None if archive is None else os.fspath(archive))):
        command += [f"--{name}", value] if value is not None else []
    show = _bar if progress is True else None if progress is False else progress
    trials: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "events")
        Path(path).touch()
        child = subprocess.Popen(command + ["--events", path], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True,
                                 preexec_fn=_end_with_parent)
        over = threading.Event()
        follower = threading.Thread(target=_follow, args=(path, trials, show, over))
        follower.start()
        try:
            while True:
                try:
                    output, grumble = child.communicate()
                    break
                except KeyboardInterrupt:
                    child.send_signal(signal.SIGINT)  # it ends with a result
        finally:
            over.set()
            follower.join()
    if child.returncode != 0 and not output.strip():
        raise TuneError(complaint(grumble))
    return Result(os.fspath(kernel), json.loads(output), trials,
                  None if archive is None else os.fspath(archive),
                  complaint(grumble) if child.returncode != 0 else "")
