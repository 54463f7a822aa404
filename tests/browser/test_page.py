"""test_page.py: pages of reports in a real browser. Usage: test_page.py AUTOKERNEL

Runs on a recording, one with a language model whose replies are played back; trials with hostile
texts; ten thousand trials; many sizes. Each page opens from disk, complains of nothing, draws every
chart and takes texts for texts. Exit code 77 and one line where there is no browser.
"""
import base64
import contextlib
import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zlib

from webdriver import CANVASES, Browser, missing

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDING = os.path.join(TREE, "bench", "recordings", "matmul.json.gz")
TINY = os.path.join(TREE, "tests", "data", "recordings", "tiny.json")
PARALLEL = ("ak.draw_rest(); const parallel = ak.charts.find(one =>"
            " one.box.closest('section').id === 'parallel');")
TURN = "\u202e\u2066"
HOSTILE = "</script><img src=x onerror='window.attacked=1'><script>window.attacked=1</script>"


def packed(text):
    """The sources of a kernel as the archive keeps them: a tar file, compressed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        entry = tarfile.TarInfo("kernel/host.c")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text.encode()))
    return zlib.compress(out.getvalue())


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
                       "AUTOKERNEL_ARCHIVE": os.path.join(place, archive), "AUTOKERNEL_CEILING_MIB": "8",
                       "AUTOKERNEL_SAMPLES": "7", "AUTOKERNEL_FINISH_TIME": "0.02"} # as cli/run.sh
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
        # A command breaks between its words only, and is copied as it is.
        self.assertEqual(self.browser.run(
            "const words = [...document.querySelectorAll('#again .word')]; return [words.length,"
            " words.filter((w) => w.getClientRects().length > 1).length,"
            " document.querySelector('#again code').textContent];"),
            [len(self.command().split()), 0, self.command()])
        text = self.browser.run("return document.body.innerText")
        for words in ("The best configuration takes", "Its speed is",
                      "configurations were tried", "autokernel tune matmul"):
            self.assertIn(words, text)
        self.consistent()
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
        self.filters(rows)
        self.ticks()
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
        self.by_keyboard()
        self.on_paper()

    def command(self):
        return json.loads(self.autokernel("report", "--json"))["command"]

    def filters(self, rows):
        """Filters know parameters that never change, and say which words they do not apply."""
        put = ("const i = document.querySelector('#table input'); i.value = arguments[0];"
               "i.dispatchEvent(new Event('input'));")
        says = "return document.querySelector('#table .tools .bad').textContent"
        constant = self.browser.run("const p = JSON.parse(document.getElementById('data').textContent)"
                                    ".trials.parameters.find((p) => p.values.length === 1);"
                                    "return [p.name, p.values[0]];")
        self.browser.run(put, f"{constant[0]}={constant[1]} evaluation<=4")
        self.assertEqual((self.browser.run(rows), self.browser.run(says)), (4, ""))
        self.browser.run(put, f"{constant[0]}=other")
        self.assertEqual((self.browser.run(rows), self.browser.run(says)), (0, ""))
        self.browser.run(put, "proposed_by=default")
        self.assertEqual((self.browser.run(rows), self.browser.run(says)), (1, ""))
        for words, why in (("evaluation<=4 nonsense=1", "nothing here is called nonsense"),
                           ("evaluation<=4 ms<fast", "fast is no number"),
                           ("evaluation<=4 ms<", "a value must follow <"),
                           ("evaluation<=4 status==ok", "a value must follow ="),
                           ("evaluation<=4 >3", "does not begin with a name")):
            self.browser.run(put, words)
            self.assertEqual(self.browser.run(rows), 4, words)
            self.assertIn(why, self.browser.run(says), words)
        self.assertEqual(self.browser.run("return document.querySelector('#table input')"
                                          ".getAttribute('aria-invalid')"), "true")
        self.browser.run(put, "")
        self.assertEqual(self.browser.run(says), "")

    def ticks(self):
        """Logarithmic axes have labels, however short or long they are, each with another text."""
        odd = self.browser.run("""
            const odd = [];
            for (let at = -9; at < 9; at += 0.37) {
                for (const decades of [0.02, 0.1, 0.3, 0.61, 1, 1.7, 3.1, 3.4, 5, 9, 14]) {
                    const low = 10 ** at, high = 10 ** (at + decades);
                    const ticks = ak.log_ticks(low, high), texts = ticks.map(ak.tick);
                    const least = decades <= 0.1 ? 2 : 4;
                    if (ticks.length < least || ticks.length > 20 ||
                        new Set(texts).size < texts.length ||
                        ticks.some((t) => t < low * 0.99 || t > high * 1.01)) {
                        odd.push([low, high, texts.join(" ")]);
                    }
                }
            }
            return odd;""")
        self.assertEqual(odd, [])

    def consistent(self):
        """What the headline says is what the tables and the report in JSON have."""
        report = json.loads(self.autokernel("report", "--json"))
        lead = self.browser.run("return document.querySelector('.lead').textContent")
        value, unit = re.search(r"takes ([0-9.]+) (ms|µs|s)\b", lead).groups()
        said = float(value) * {"s": 1000, "ms": 1, "µs": 0.001}[unit]
        self.assertAlmostEqual(said / report["best"]["ms"], 1, places=3)
        row = self.browser.run("return [...document.querySelectorAll('#table tr.best td')]"
                               ".map(td => td.textContent)")
        self.assertAlmostEqual(float(row[2]) / report["best"]["ms"], 1, places=3)
        text = self.browser.run("return document.querySelector('#summary').innerText")
        tried, failed = map(int, re.search(r"(\d+) configurations were tried.*, of which (\d+) failed",
                                           text).groups())
        self.assertEqual(tried, report["trials"]["evaluated"])
        self.assertEqual(failed, sum(report["trials"]["failed"].values()))
        self.assertIn(f"of {tried} rows", self.browser.run(
            "return document.querySelector('#table .count').textContent"))
        for name, before, after in re.findall(r"(\w+) from (\S+) to (\S+) \(", text):
            self.assertIn([name, before, after], self.browser.run(
                "return [...document.querySelectorAll('#changes tbody tr')].map(tr =>"
                " [...tr.querySelectorAll('td')].slice(0, 3).map(td => td.textContent))"))

    def press(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self.browser.command("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                                 windowsVirtualKeyCode={"ArrowRight": 39, "Enter": 13,
                                                        "Escape": 27, "Tab": 9}[key])

    def by_keyboard(self):
        """Tab goes from control to control; arrows walk through a chart, Enter takes a point."""
        self.browser.run("window.seen = new Set(); addEventListener('focusin', (event) => {"
                         " const part = event.target.closest('section');"
                         " seen.add(part ? part.id : event.target.tagName); });"
                         "document.querySelector('nav a:last-child').focus()")
        for _ in range(5):
            self.press("Tab")
        self.assertLessEqual({"A", "summary", "convergence"},
                             set(self.browser.run("return [...seen]")))
        self.browser.run("document.querySelector('#convergence .chart').focus()")
        self.press("ArrowRight")
        self.press("ArrowRight")
        self.browser.wait("const f = document.querySelector('#convergence .facts');"
                          " return f && /^evaluation \\d+/.test(f.textContent)")
        self.press("Enter")
        self.assertRegex(self.browser.run("return document.querySelector('#table input').value"),
                         r"^evaluation=\d+$")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#table tbody tr')"
                                          ".length"), 1)
        # What the filter finds is lit among all configurations.
        self.assertEqual(self.browser.run(PARALLEL + "return [...parallel.lit()].map(i => i + 1)"),
                         [int(self.browser.run("return document.querySelector('#table td').textContent"))])

    def on_paper(self):
        # Charts are as wide as paper, and those with a layer of marks show these in their own canvas.
        marks = ("ak.draw_rest(); const own = document.querySelector('#parallel canvas:not(.layer)');"
                 "const data = own.getContext('2d').getImageData(0, 0, own.width, own.height).data;"
                 "let count = 0; for (let i = 3; i < data.length; i += 4) { count += data[i] > 0; }"
                 "return [own.parentElement.clientWidth, count];")
        wide, axes = self.browser.run(marks)
        self.browser.run("dispatchEvent(new Event('beforeprint'))")
        narrow, with_marks = self.browser.run(marks)
        self.browser.run("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.run(marks), [wide, axes])
        self.assertLess(narrow, 720)
        self.assertGreater(with_marks, axes * 1.2)
        pdf = base64.b64decode(self.browser.command("Page.printToPDF")["data"])
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertLess(pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page "), 30)
        self.browser.command("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(self.browser.run("return getComputedStyle(document.body).backgroundColor"),
                         "rgb(255, 255, 255)")
        self.assertEqual(self.browser.run("return getComputedStyle(document.querySelector('nav'))"
                                          ".display"), "none")
        self.browser.theme(False)
        self.assertEqual(self.browser.errors(), [])

    def test_study(self):
        path = os.path.join(self.folder.name, "study.html")
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.autokernel("study", RECORDING, "--seeds", "3", "--evals", "10", "--quiet",
                                      "--format", "html"))
        self.open(path)
        self.assertEqual(self.charts(), ["quality"])
        text = self.browser.run("return document.body.innerText")
        for words in ("3 arms", "portfolio", "autokernel study"):
            self.assertIn(words, text)

    def test_simulation(self):
        path = os.path.join(self.folder.name, "simulation.html")
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.autokernel("simulate", RECORDING, TINY, "--strategy", "random,local",
                                      "--repeats", "3", "--score", "--format", "html"))
        self.open(path)
        self.assertEqual(self.charts(), ["scores"])
        text = self.browser.run("return document.body.innerText")
        self.assertEqual(self.browser.run("return echarts.getInstanceByDom(document.querySelector("
                                          "'#scores .chart')).getOption().yAxis[0].data"),
                         ["matmul.json.gz", "tiny.json", "mean of all"])
        for words in ("2 strategies on 2 recordings", "tiny.json", "autokernel simulate"):
            self.assertIn(words, text)

    def test_versions(self):
        """Runs of two versions of a kernel: what each reached, and the line that changed."""
        self.autokernel("tune", "matmul", "--device", "sim:" + RECORDING, "--evals", "10", "--quiet",
                        archive="versions.db")
        with contextlib.closing(sqlite3.connect(os.path.join(self.folder.name, "versions.db"),
                                                isolation_level=None)) as db:
            db.execute("PRAGMA foreign_keys = OFF")
            words, = db.execute("SELECT words FROM environments").fetchone()
            first = json.loads(words)["source"]
            db.execute("INSERT INTO sources VALUES (?, ?, '')", (first, packed("b = 1;\nc = 2;\n")))
            db.execute("INSERT INTO sources VALUES ('other', ?, '')",
                       (packed(f"b = 1;\n{HOSTILE}\n"),))
            db.execute("INSERT INTO environments VALUES ('e2', ?, '', NULL)",
                       (words.replace(first, "other"),))
            names = [row[1] for row in db.execute("PRAGMA table_info(runs)")][2:]
            other = {"environment": "'e2'", "result_checksum": "NULL"}
            chosen = ", ".join(other.get(n, n) for n in names)
            db.execute(f"INSERT INTO runs (id, {', '.join(names)}) SELECT '00000000000000ab', {chosen}"
                       " FROM runs")
        path = os.path.join(self.folder.name, "versions.html")
        self.autokernel("compare", "00000000000000ab", "--format", "html", "--output", path,
                        archive="versions.db")
        self.open(path)
        self.assertEqual(self.charts(), ["section-0"])
        self.assertEqual(self.browser.run("return document.querySelectorAll('#section-0 tbody"
                                          " tr.over').length"), 2)
        self.assertNotIn("  ", self.browser.run("return document.querySelector('#section-0 .note')"
                                                ".textContent"))
        went = self.browser.run("return document.querySelector('tr.went').innerText")
        came = self.browser.run("return document.querySelector('tr.came').innerText")
        self.assertIn("c = 2;", went)
        self.assertIn(HOSTILE, came)
        self.harmless()

    def test_titles(self):
        """The page asks for sections by their titles, which the C side gives them."""
        folder = os.path.join(TREE, "src", "report")
        given = set()
        for name in os.listdir(folder):
            if name.startswith("section"):
                with open(os.path.join(folder, name), encoding="utf-8") as source:
                    given.update(re.findall(r'ak_section_(?:begin|table)\(&?b, "([^"]+)"', source.read()))
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
        # A recorded time has no interval.
        self.assertNotRegex(self.browser.run("return document.body.innerText"), r"[0-9] (\.\.|to) [0-9]")

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
        rows = [{"name": HOSTILE + TURN, "ms": 1 + i / 7, "config": f"A={i % 5},B=</script>"}
                for i in range(30)]
        rows.append({"name": HOSTILE + TURN, "ms": "", "status": "compile_error", "config": "A=9",
                     "reason": "candidate.c:1: error: " + HOSTILE + TURN})
        self.imported(rows, "hostile.db")
        self.page("hostile.html", archive="hostile.db")
        self.charts()
        # Numbers of compile workers that no machine has: a lane for each worker, not for each number.
        self.assertEqual(self.browser.run("""
            const page = JSON.parse(document.getElementById("data").textContent), trials = page.trials;
            trials.end_s = trials.evaluation.map((_, i) => i + 1);
            trials.compile_s = trials.measure_s = trials.end_s.map(() => 0.5);
            trials.compile_worker = trials.end_s.map((i) => i % 2 ? 2147483647 : 3);
            const host = document.createElement("section");
            document.body.append(host);
            ak.draw_run.timeline(host, ak.run_of(page));
            const lanes = (host.querySelector(".chart").clientHeight - 90) / 34;
            ak.charts.pop();
            host.remove();
            return lanes;"""), 3)
        text = self.browser.run("return document.body.innerText")
        self.assertGreaterEqual(text.count(HOSTILE), 2) # the kernel's name, the compiler's words
        self.assertIn(HOSTILE, self.browser.run("return document.title"))
        for character in TURN:
            self.assertNotIn(character, text)
            self.assertNotIn(character, self.browser.run("return document.title"))
        self.harmless()

    def test_ten_thousand(self):
        """A page of ten thousand trials is small, and no chart makes an object for each: that took
        seconds."""
        rows = [{"name": "many", "ms": 1 + (i * 7919 % 10007) / 1000, "tflops": 1.5,
                 "config": f"BLOCK_M={16 << i % 4},BLOCK_N={16 << i // 4 % 4},STAGES={1 + i // 16 % 5},"
                           f"WARPS={1 << i // 80 % 4},UNROLL={1 + i // 320 % 8},KC={i // 2560 % 4},"
                           f"compiler={'gcc' if i % 2 else 'clang'}",
                 **({"status": "crashed", "ms": "", "reason": f"signal {i}"} if i % 50 == 3 else {})}
                for i in range(10000)]
        self.imported(rows, "many.db")
        with contextlib.closing(sqlite3.connect(os.path.join(self.folder.name, "many.db"))) as db:
            # What a run on a GPU with four compile workers has beside that.
            db.execute("UPDATE trials SET compile_ns = 3e8 + id % 7 * 1e7, check_ns = 2e7,"
                       " measure_ns = 1e8, compile_worker = 1 + id % 4, compiled_before_ns = 2e8,"
                       " sm_clock_mhz = 1700 + id % 100, power_watts = 400 + id % 90, registers ="
                       " 32 + id % 64, checksum = NULL, timestamp = strftime('%Y-%m-%dT%H:%M:%S',"
                       " '2026-01-01', (id / 4) || ' seconds') || '.000Z'")
            db.execute("UPDATE runs SET started = '2026-01-01T00:00:00.000Z'")
            db.commit()
        size = self.page("many.html", archive="many.db")
        self.assertLess(size, 6_000_000)
        charts = self.charts()
        for section in ("convergence", "parallel", "failures", "time", "conditions"):
            self.assertIn(section, charts)
        self.assertIn("of 10000 rows", self.browser.run(
            "return document.querySelector('#table .count').textContent"))
        most = self.browser.run("return Math.max(...ak.charts.map(one => one.chart.getZr().storage"
                                ".getDisplayList(true).length))")
        self.assertLess(most, 500)
        # A hover says which of them is there.
        self.browser.run("ak.charts.find(one => one.layer && one.box.closest('#time')).box.focus()")
        self.press("ArrowRight")
        self.browser.wait("const f = document.querySelector('#time .facts');"
                          " return f && /^(compile|measure|check), evaluation 1/.test(f.textContent)")


if __name__ == "__main__":
    if missing():
        print(missing())
        sys.exit(77)
    EXECUTABLE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
