"""test_page.py: pages of reports in a real browser. Usage: test_page.py AUTOKERNEL

Runs on a recording, one with a language model whose replies are played back; trials with hostile
texts; ten thousand trials; many sizes. Each page opens from disk, complains of nothing, draws every
chart and takes texts for texts. Exit code 77 and one line where there is no browser.
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from webdriver import CANVASES, Browser, missing

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDING = os.path.join(TREE, "bench", "recordings", "matmul.json.gz")
TINY = os.path.join(TREE, "tests", "data", "recordings", "tiny.json")
HOSTILE = "</script><img src=x onerror='window.attacked=1'><script>window.attacked=1</script>"


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pages")
        os.chdir(cls.folder.name)
        cls.browser = Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        os.chdir("/")
        cls.folder.cleanup()

    def autokernel(self, *words, archive="runs.db"):
        place = self.folder.name
        environment = {"PATH": os.environ["PATH"], "HOME": place, "LC_ALL": "C", "TMPDIR": place,
                       "XDG_CACHE_HOME": os.path.join(place, "cache"),
                       "AUTOKERNEL_ARCHIVE": os.path.join(place, archive)}
        done = subprocess.run([EXECUTABLE, *words], capture_output=True, text=True,
                              env=environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def page(self, name, *words, archive="runs.db"):
        """Writes a report and opens it; its bytes."""
        path = os.path.join(self.folder.name, name)
        self.autokernel("report", *words, "--format", "html", "--output", path, archive=archive)
        self.open(path)
        return os.path.getsize(path)

    def open(self, path):
        self.browser.open("file://" + path)
        self.browser.wait("return document.documentElement.dataset.drawn === 'yes'")
        self.assertEqual(self.browser.errors(), [])

    def charts(self):
        """Ids of the sections that have charts; each is drawn."""
        found = self.browser.run(CANVASES)
        for section, colors in found:
            self.assertGreater(colors, 4, f"the chart of {section} is empty")
        return [section for section, _ in found]

    def test_run(self):
        self.autokernel("tune", "matmul", "--device", "sim:" + RECORDING, "--evals", "120",
                        "--quiet")
        self.page("run.html")
        charts = self.charts()
        for section in ("convergence", "importance", "parallel", "time"):
            self.assertIn(section, charts)
        text = self.browser.run("return document.body.innerText")
        for words in ("The best configuration takes", "Its speed is",
                      "configurations were tried", "autokernel tune matmul"):
            self.assertIn(words, text)
        # The table sorts, filters and follows the selection; a key does what a click does.
        rows = "return document.querySelectorAll('#table tbody tr').length"
        self.assertEqual(self.browser.run(rows), 25)
        first = "return document.querySelector('#table tbody td').textContent"
        fastest = self.browser.run(first)
        self.browser.run("document.querySelector('#table thead button').click()")
        self.assertEqual(self.browser.run(first), "1")
        self.assertNotEqual(fastest, "1")
        self.browser.run("const input = document.querySelector('#table input');"
                         "input.value = 'evaluation<=3'; input.dispatchEvent(new Event('input'));")
        self.assertEqual(self.browser.run(rows), 3)
        # A drag along the first axis of the parallel coordinates selects rows of the table.
        self.browser.run("document.documentElement.style.scrollBehavior = 'auto';"
                         "document.getElementById('parallel').scrollIntoView();"
                         "const all = document.querySelector('#table input');"
                         "all.value = ''; all.dispatchEvent(new Event('input'));")
        x, y = self.browser.run("const box = document.querySelector('#parallel canvas')"
                                ".getBoundingClientRect(); return [box.x, box.y];")
        for kind, down in (("mousePressed", 60), ("mouseMoved", 120), ("mouseMoved", 200),
                           ("mouseReleased", 200)):
            self.browser.command("Input.dispatchMouseEvent", type=kind, x=x + 34, y=y + down,
                                 button="left", clickCount=1)
        self.browser.wait("return document.querySelector('#table .count').textContent"
                          ".includes('selected in the chart')")
        # By seconds; dark; narrow: everything is drawn again, and nothing is wider than the screen.
        self.browser.run("document.querySelectorAll('#convergence .choice button')[1].click()")
        self.browser.run("document.querySelector('button.theme').click();"
                         "document.querySelector('button.theme').click();")
        self.assertEqual(len(self.charts()), len(charts))
        self.browser.resize(380, 800)
        # The charts follow when the browser tells them of their new width.
        self.browser.wait("return innerWidth === 380 &&"
                          " document.documentElement.scrollWidth <= 380")
        self.charts()
        self.browser.resize(1440, 900)
        self.assertEqual(self.browser.errors(), [])

    def test_titles(self):
        """The page asks for sections by their titles, which the C side gives them."""
        folder = os.path.join(TREE, "src", "report")
        given = set()
        for name in os.listdir(folder):
            if name.startswith("section"):
                with open(os.path.join(folder, name), encoding="utf-8") as source:
                    given.update(re.findall(r'ak_section_begin\(&?b, "([^"]+)"', source.read()))
        with open(os.path.join(folder, "page", "run.js"), encoding="utf-8") as script:
            text = script.read()
        asked = set(re.findall(r's\.title !== "([^"]+)"', text))
        for call in re.findall(r'(?:take\(host,|fold\(host,|used\.add\(|new Set\(\[)([^;]*?)\)', text):
            asked.update(re.findall(r'"([^"]+)"', call))
        self.assertGreater(len(asked), 15)
        self.assertLessEqual(asked, given)

    def test_two_runs(self):
        for seed in ("1", "2"):
            self.autokernel("tune", "matmul", "--device", "sim:" + RECORDING, "--evals", "40",
                            "--strategy", "random", "--seed", seed, "--quiet", archive="two.db")
        runs = json.loads(self.autokernel("history", "--device", "sim", "--json", archive="two.db"))
        first, second = dict.fromkeys(trial["run"] for trial in runs)
        path = os.path.join(self.folder.name, "two.html")
        self.autokernel("compare", first, second, "--format", "html", "--output", path,
                        archive="two.db")
        self.open(path)
        self.assertGreaterEqual(len(self.charts()), 1)
        self.assertIn("What each found", self.browser.run("return document.body.innerText"))

    def test_without_network(self):
        """The page asks nobody for anything."""
        self.autokernel("tune", "matmul", "--device", "sim:" + RECORDING, "--evals", "20", "--quiet",
                        archive="offline.db")
        self.page("offline.html", archive="offline.db")
        asked = self.browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertEqual(asked, [])
        # The policy holds: a script that a text smuggled in would not run.
        self.browser.run("const s = document.createElement('script'); s.textContent ="
                         "'window.attacked = 1'; document.body.append(s);")
        self.assertIsNone(self.browser.run("return window.attacked || null"))
        self.assertTrue(any("Content Security Policy" in e for e in self.browser.errors()))

    def test_language_model(self):
        changes = [[{"x": 4, "y": 3}, {"z": "b"}], [{"x": 8, "y": 3}, {"x": 2, "y": 1}]]
        with open("answers.jsonl", "w", encoding="utf-8") as out:
            for generation in changes:
                proposals = [{"hypothesis": HOSTILE, "expected_gain_pct": 20, "parent": None,
                              "changes": c} for c in generation]
                out.write(json.dumps({"text": {"proposals": proposals}}) + "\n")
        self.autokernel("tune", TINY, "--device", "sim", "--strategy", "llm:fill=0", "--generations",
                        "2", "--batch", "2", "--evals", "8", "--llm", "replay:answers.jsonl",
                        "--quiet", archive="talk.db")
        self.page("talk.html", archive="talk.db")
        self.assertIn("talk", self.charts())
        self.browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.assertIn(HOSTILE, self.browser.run("return document.body.innerText"))
        self.harmless()

    def harmless(self):
        self.assertIsNone(self.browser.run("return window.attacked || null"))
        self.assertEqual(self.browser.run("return document.images.length"), 0)
        self.assertEqual(self.browser.errors(), [])

    def imported(self, rows, archive):
        names = ["run", "name", "ms", "status", "config", "device", "size", "dtype", "tflops", "reason"]
        path = os.path.join(self.folder.name, "trials.csv")
        with open(path, "w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, names)
            writer.writeheader()
            writer.writerows({"run": "00112233445566aa", "device": "host", "size": "M=64", "dtype": "f32", "tflops": "",
                              "reason": "", "status": "ok", **row} for row in rows)
        self.autokernel("import", path, archive=archive)

    def test_hostile(self):
        rows = [{"name": HOSTILE, "ms": 1 + i / 7, "config": f"A={i % 5},B=</script>"}
                for i in range(30)]
        rows.append({"name": HOSTILE, "ms": "", "status": "compile_error", "config": "A=9",
                     "reason": "candidate.c:1: error: " + HOSTILE})
        self.imported(rows, "hostile.db")
        self.page("hostile.html", archive="hostile.db")
        self.charts()
        text = self.browser.run("return document.body.innerText")
        self.assertGreaterEqual(text.count(HOSTILE), 2) # the kernel's name, the compiler's words
        self.assertIn(HOSTILE, self.browser.run("return document.title"))
        self.harmless()

    def test_ten_thousand(self):
        rows = [{"name": "many", "ms": 1 + (i * 7919 % 10007) / 1000, "tflops": 1.5,
                 "config": f"BLOCK_M={16 << i % 4},BLOCK_N={16 << i // 4 % 4},STAGES={1 + i // 16 % 5},"
                           f"WARPS={1 << i // 80 % 4},UNROLL={1 + i // 320 % 8},KC={i // 2560 % 4},"
                           f"compiler={'gcc' if i % 2 else 'clang'}",
                 **({"status": "crashed", "ms": "", "reason": f"signal {i}"} if i % 50 == 3 else {})}
                for i in range(10000)]
        self.imported(rows, "many.db")
        size = self.page("many.html", archive="many.db")
        self.assertLess(size, 6_000_000)
        charts = self.charts()
        for section in ("convergence", "parallel", "failures"):
            self.assertIn(section, charts)
        self.assertIn("of 10000 rows", self.browser.run(
            "return document.querySelector('#table .count').textContent"))


if __name__ == "__main__":
    if missing():
        print(missing())
        sys.exit(77)
    EXECUTABLE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
