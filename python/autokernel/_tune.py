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
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from ._archive import Archive, Report
from ._bundle import Bundle
from ._command import (NAMES, PathLike, TuneError, complaint, counted, executable, kernel_word, run, spoken,
                       text, warn, warned)
from ._frame import frame_of

Progress = Callable[[dict[str, Any]], None]
#: options of `autokernel tune` that have no meaning here, and what has it
_OWN = {"events": "progress=FUNCTION gets every event", "quiet": "progress=False shows nothing",
        "json": "Result.data is the object that it prints", "help": "see help(autokernel.tune)",
        "force": "nothing is written over a file"}
_prctl = ctypes.CDLL(None).prctl


@dataclass(repr=False)
class Result:
    """What a run found. `best` has config, ms, ci_ms, tflops, gbs, speedup (relative to what
    speedup_over names: the fastest library or the default) and verdict: faster, slower, tie or
    undecided, which means that the speedup may be an accident (undecided_because says why); `data`
    is the whole object that `autokernel tune --json` prints (docs/formats.md). A run of several `sizes` has no `best`: `data`
    has "sizes", "configs" and "table"."""
    kernel: str
    data: dict[str, Any]
    trials: list[dict[str, Any]]
    archive: Optional[str] = None
    why: str = ""  # why nothing was found, as the executable said it
    warnings: tuple[str, ...] = ()  # of which `tune` has warned

    @property
    def best(self) -> Optional[dict[str, Any]]:
        return self.data.get("best")

    def __repr__(self) -> str:
        best = self.best
        if "sizes" in self.data:
            return f"<autokernel.Result of {self.kernel}: {counted(len(self.data['sizes']), 'size')}>"
        found = f"{best['ms']:.4g} ms with {best['config']}" if best else "no configuration worked"
        return f"<autokernel.Result of {self.kernel}: {found}>"

    @property
    def config(self) -> dict[str, Any]:
        if self.best is None:
            raise TuneError("a run of several sizes has no single configuration: see data"
                            if "sizes" in self.data else self.why or "no configuration worked")
        return self.best["config"]

    def export(self, path: Optional[PathLike] = None, format: str = "bundle") -> str:
        """Writes the winner, or those of all sizes, as a bundle (or in another format: "c", "best",
        "dispatch"); returns the path."""
        command = ["export", self.kernel, "--run", self.data["run"], "--format", format, "--json"]
        command += ["--output", os.fspath(path)] if path is not None else []
        command += ["--archive", self.archive] if self.archive else []
        command += ["--table"] if "sizes" in self.data and format in ("bundle", "c") else []
        return json.loads(run(command))["path"]

    def load(self) -> Bundle:
        """Makes a bundle of the winner and opens it: a callable on NumPy arrays."""
        with tempfile.TemporaryDirectory() as folder:
            return Bundle(self.export(os.path.join(folder, "best.akb")))  # export has warned

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


def _follow(path: str, take: Callable[[dict[str, Any]], None], progress: Optional[Progress],
            over: threading.Event, stop: Callable[[BaseException], None]) -> None:
    """Reads events as they are written. An exception of `progress` goes to `stop`, once."""
    rest = ""
    with open(path, encoding="utf-8") as events:
        while True:
            ending = over.is_set()
            rest += events.read()
            *lines, rest = rest.split("\n")
            for line in lines:
                event = json.loads(line)
                take(event)
                try:
                    if progress is not None:
                        progress(event)
                except BaseException as why:  # pylint: disable=broad-except
                    progress = None
                    stop(why)
            if ending:
                return
            over.wait(0.1)


def _end_with_parent() -> None:
    """Runs in the child, which is in a session of its own, so that a Ctrl-C of the terminal reaches it
    only once, from here: a second one would end it without a result."""
    _prctl(1, signal.SIGINT, 0, 0, 0)  # PR_SET_PDEATHSIG


def _words(name: str, value: Any) -> list[str]:
    """Returns an option of `autokernel tune` as words of the command."""
    if name in _OWN:
        raise TypeError(f"ak.tune takes no {name}: {_OWN[name]}")
    option = f"--{name.replace('_', '-')}"
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    if name in ("like", "config") and isinstance(value, (list, tuple)):
        return [word for one in value for word in (option, str(text(one)))]
    return [option, str(text(value, ";" if name == "sizes" else ","))]


def tune(kernel: PathLike, *, size: Union[None, str, int, Mapping[str, int]] = None,
         dtype: Optional[str] = None, options: Union[None, str, Mapping[str, Any]] = None,
         device: Optional[str] = None, strategy: Optional[str] = None,
         evals: Optional[int] = None, time: Union[None, str, float] = None,
         seed: Optional[int] = None, archive: Optional[PathLike] = None,
         libraries: Union[None, str, Sequence[str]] = None,
         progress: Union[bool, Progress] = True, **more: Any) -> Result:
    """Searches for the fastest correct configuration of a kernel (a built-in one or a folder).

    `size` is a number, "M=64,N=64" or a mapping; `time` seconds or "10m"; `progress` False, or a
    function that gets every event (docs/formats.md, Events). Ctrl-C ends the search and returns the
    best so far.

    Every other option of `autokernel tune` is a keyword, with `_` for `-`: True gives an option
    that has no value, None and False leave it out, a mapping is NAME=VALUE,.. and a list several
    values. `autokernel tune --help` explains them:

        impl="host", sizes=[256, "M=64,N=2048,K=64"], dispatch=2, objective="energy",
        fix={"MR": 6, "K_UNROLL": [1, 2]}, config=["default", {"MR": 6}], like=["a.json", "b.json"],
        threads=1, finish_time=0.2, target_speedup=1.5, protocol="burst",
        resume=True, sanitize=True, allow_numerics=True,
        launcher="ssh:one,two", workers="2-8",
        llm="ollama:qwen3:8b", llm_url=.., llm_effort=.., llm_budget=.., llm_timeout=..,
        llm_output=.., llm_tokens=.., llm_calls=.., llm_share=.., llm_key_file=..,
        llm_prices=.., llm_record=.., llm_replay=.., batch=.., generations=..

    One that `autokernel tune` does not have is a TuneError with the executable's words. `json`,
    `events` and `quiet` are refused: `Result.data` and `progress` are for these. (`set` has the
    name `options` here.) What a run warns of becomes warnings of Python, and is in
    `Result.warnings`.
    """
    result = search(kernel, {"size": size, "dtype": dtype, "set": options, "device": device,
                             "strategy": strategy, "evals": evals, "time": time, "seed": seed,
                             "libraries": libraries, "archive": archive, **more}, progress)
    for told in result.warnings:
        warn("autokernel: " + told)
    return result


def search(kernel: PathLike, options: Mapping[str, Any],
           progress: Union[bool, Progress], names: Mapping[str, str] = NAMES) -> Result:
    """Does what `tune` does and warns of nothing: the result has the warnings. `names` has the names
    of arguments for options, where they differ."""
    command = [executable(), "tune", kernel_word(kernel), "--json", "--quiet"]
    for name, value in options.items():
        command += _words(name, value)
    show = _bar if progress is True else None if progress is False else progress
    trials: list[dict[str, Any]] = []
    told: list[str] = []

    def take(event: dict[str, Any]) -> None:
        if event.get("event") == "trial":
            trials.append(event)
        elif event.get("event") == "warning":
            told.append(spoken(event["text"], names))

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "events")
        Path(path).touch()
        child = subprocess.Popen(command + ["--events", path], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True,
                                 preexec_fn=_end_with_parent)
        over = threading.Event()
        raised: list[BaseException] = []

        def stop(why: BaseException) -> None:
            raised.append(why)
            child.send_signal(signal.SIGINT)  # it ends with a result, which the archive keeps

        follower = threading.Thread(target=_follow, args=(path, take, show, over, stop))
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
    if raised:
        raise raised[0]
    if child.returncode != 0 and not output.strip():
        raise TuneError(complaint(grumble, names))
    archive = options.get("archive")
    return Result(os.fspath(kernel), json.loads(output), trials,
                  None if archive is None else os.fspath(archive),
                  complaint(grumble, names) if child.returncode != 0 else "",
                  tuple(dict.fromkeys(told + warned(grumble, names))))
