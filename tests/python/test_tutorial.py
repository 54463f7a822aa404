"""Everything on the page docs/tutorial.md that is a command or Python, in its order. What installs
the package is what run.sh has done before."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(os.environ.get("AK_TUTORIAL", Path(__file__).parents[2] / "docs" / "tutorial.md"))


def test_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done, names = [], {}
    blocks = re.findall(r"```python\n(.*?)```|^    (\S[^\n]*)$", PAGE.read_text(), re.M | re.S)
    for python, command in blocks:
        if python:
            exec(compile(python, str(PAGE), "exec"), names)
        elif not command.startswith("make wheel"):
            run = subprocess.run(command, shell=True, env={**os.environ, "PATH": path},
                                 capture_output=True, text=True)
            assert run.returncode == 0, f"{command}: {run.stderr}"
        done.append(python or command)
    assert len(done) == 11 and names["result"].best["ms"] > 0
