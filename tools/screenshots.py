#!/usr/bin/env python3
"""screenshots.py: makes the pictures of the README, from runs of its own.

Usage: screenshots.py AUTOKERNEL FOLDER [--archive FILE [RUN] | WORDS OF tune ...]

Without further words the runs are on bench/recordings, which takes a moment and gives the same pictures on
every machine. `screenshots.py build/release/autokernel /tmp matmul --size 512` shows a run on this machine,
and --archive shows the runs of an archive, RUN or the latest as the report. Writes report.png,
configurations.png and dashboard.png. Needs chromium and chromedriver, and libmicrohttpd for the dashboard.
"""
import contextlib
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TREE, "tests", "browser"))
from webdriver import Browser, missing # pylint: disable=wrong-import-position

WIDTH, HEIGHT = 1080, 1150
RECORDINGS = [[kernel, "--device", f"sim:recordings/{kernel}.json.gz", "--evals", "200"]
              for kernel in ("softmax", "matmul_act", "matmul")]


def main():
    if len(sys.argv) < 3 or missing():
        print(missing() or __doc__, file=sys.stderr)
        return 2
    executable, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    words = sys.argv[3:]
    given = words[:1] == ["--archive"]
    runs = [] if given else [words] if words else RECORDINGS
    source = os.path.abspath(words[1]) if given else None
    shown = words[2:3] if given else []
    archive = ["--archive", "runs.db"]
    with tempfile.TemporaryDirectory() as scratch, Browser(WIDTH, HEIGHT) as browser:
        os.chdir(scratch) # names of files are part of the pages
        os.symlink(os.path.join(TREE, "bench", "recordings"), "recordings")
        report = os.path.join(scratch, "report.html")
        if given: # one in use has its latest rows in another file
            with contextlib.closing(sqlite3.connect(source)) as old, \
                    contextlib.closing(sqlite3.connect("runs.db")) as new:
                old.backup(new)
        for run in runs:
            subprocess.run([executable, "tune", *run, "--quiet", *archive], check=True,
                           stdout=subprocess.DEVNULL)
        if not given:
            subprocess.run([executable, "study", "recordings/matmul.json.gz", "--evals", "40", "--quiet",
                            *archive], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([executable, "report", *shown, "--format", "html", "--output", report, *archive],
                       check=True, stdout=subprocess.DEVNULL)
        browser.open("file://" + report)
        browser.wait("return document.documentElement.dataset.drawn === 'yes'")
        browser.screenshot(os.path.join(folder, "report.png"), whole=False)
        browser.run("document.documentElement.style.scrollBehavior = 'auto';"
                    "(document.querySelector('#importance .chart')?.closest('section') ||"
                    " document.getElementById('changes')).scrollIntoView();")
        browser.run("ak.draw_visible()")
        browser.screenshot(os.path.join(folder, "configurations.png"), whole=False)
        with subprocess.Popen([executable, "serve", "--port", "0", *archive],
                              stdout=subprocess.PIPE, text=True) as server:
            line = server.stdout.readline()
            browser.open(re.search(r"http://\S+", line).group(0))
            browser.wait("return document.querySelectorAll('#runs tbody tr').length > 0")
            browser.screenshot(os.path.join(folder, "dashboard.png"), whole=False)
            server.terminate()
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
