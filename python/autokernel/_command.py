"""Finds the executable and runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, Union

PathLike = Union[str, "os.PathLike[str]"]
#: the folder of this package
_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def counted(count: int, noun: str) -> str:
    """Writes "1 size", "2 sizes"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def warn(text: str) -> None:
    """Warns at the line that called the package, however deep in the package this is."""
    level = 1
    while sys._getframe(level).f_code.co_filename.startswith(_PACKAGE):
        level += 1
    warnings.warn(text, stacklevel=level + 1)


class TuneError(RuntimeError):
    """The executable failed; the text is the line in which it says why."""


def executable() -> str:
    """Finds the executable: that which AUTOKERNEL names, beside this package, or in PATH."""
    beside = Path(__file__).with_name("bin") / "autokernel"
    found = os.environ.get("AUTOKERNEL") or (str(beside) if beside.exists() else None)
    found = found or shutil.which("autokernel")
    if found is None:
        raise TuneError("there is no autokernel: install the wheel, or set AUTOKERNEL to it")
    return found


def main() -> None:
    """Is the command `autokernel` that the wheel installs: the executable takes its place."""
    os.execv(executable(), ["autokernel", *sys.argv[1:]])


def text(value: Any, between: str = ",") -> Optional[str]:
    """Writes a value as an option takes it: a mapping becomes NAME=VALUE,NAME=VALUE, where several
    values are VALUE:VALUE, and a list the texts of its items."""
    if isinstance(value, Mapping):
        return ",".join(f"{k}={text(v, ':')}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return between.join(str(text(item)) for item in value)
    return None if value is None else str(value)


def kernel_word(kernel: PathLike) -> str:
    """Returns a kernel's name or path as a word of a command, which is not taken for an option."""
    word = os.fspath(kernel)
    if not word or word.startswith("-"):
        raise TuneError(f"{word!r} is not a kernel: a name begins with a letter, and ./ makes a path")
    return word


#: options that have another name in Python
NAMES = {"set": "options", "output": "path"}
#: a command for a shell, which has these options, or an option
_SPOKEN = re.compile(r"'autokernel [^']*'|`autokernel [^`]*`|(?<![\w=-])--([a-z][a-z-]*)(?![\w=-])")


def spoken(words: str, names: Mapping[str, str] = NAMES) -> str:
    """Writes a message of the executable with the names of Python: those of `names`, or max_size for
    --max-size."""
    def name(found: re.Match[str]) -> str:
        option = found[1]
        return found[0] if option is None else names.get(option, option.replace("-", "_"))
    return _SPOKEN.sub(name, words.replace(", or replace it with --force", ", or remove it"))


def complaint(lines: str, names: Mapping[str, str] = NAMES) -> str:
    """Finds the line that says what was wrong."""
    own = [line for line in lines.splitlines() if line.startswith("autokernel: ")]
    return spoken((own or lines.splitlines() or ["it failed without a message"])[-1], names)


def warned(lines: str, names: Mapping[str, str] = NAMES) -> list[str]:
    """Returns the warnings that the executable printed."""
    begin = "warning: "
    return [spoken(line[len(begin):], names) for line in lines.splitlines()
            if line.startswith(begin)]


def run(arguments: list[str], accept: Sequence[int] = (0,), columns: Optional[int] = None) -> str:
    """Runs the executable and returns what it prints; its warnings become warnings of Python.
    Raises TuneError unless it ends with 0.
    `columns` is the width of the text of a report."""
    environment = None if columns is None else {**os.environ, "COLUMNS": str(columns)}
    done = subprocess.run([executable()] + arguments, capture_output=True, text=True, check=False,
                          env=environment)
    if done.returncode not in accept:
        raise TuneError(complaint(done.stderr))
    for line in warned(done.stderr):
        warn("autokernel: " + line)
    return done.stdout
