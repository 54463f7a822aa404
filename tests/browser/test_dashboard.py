"""test_dashboard.py: the dashboard in a real browser. Usage: test_dashboard.py AUTOKERNEL

An archive is written while the dashboard shows it: runs begin, trials land, a run ends, the server
is gone for a while and comes back. Foreign hosts, origins and paths are refused. Exit code 77 and
one line where there is no browser or no libmicrohttpd.
"""
import ctypes
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from webdriver import CANVASES, Browser, missing

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDING = os.path.join(TREE, "bench", "recordings", "matmul.json.gz")
HOSTILE = "</script><img src=x onerror='window.attacked=1'>"
RUN = ("INSERT INTO runs (id, started, kernel, implementation, device, size, dtype, choices,"
       " strategy, options) VALUES (?, ?, ?, 'host', 'host', 'M=64', 'f32', '', 'random', ?)")
TRIAL = ("INSERT INTO trials (run, timestamp, kernel, implementation, device, size, dtype, choices,"
         " config, strategy, generation, predicted_gain, status, reason, propose_ns, compile_ns,"
         " check_ns, measure_ns, overhead_ns, ms, ci_low_ms, ci_high_ms, registers, shared_bytes,"
         " spill_bytes, occupancy, compile_worker, compiled_before_ns, code_bytes, same_code, imported,"
         " measured_on) VALUES"
         " (?, ?, ?, 'host', 'host', 'M=64', 'f32', '', ?, 'random', 0, 0, ?, ?, 0, 5e7, 1e7, 2e7,"
         " 0, ?, ?, ?, 0, 0, 0, 0, 1, 4e7, 0, 0, 0, 'host@node1')")


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".000Z"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser().__enter__() # starting one takes longer than most tests

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="dashboard")
        self.archive = os.path.join(self.folder.name, "runs.db")
        self.port = free_port()
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder.name, "LC_ALL": "C",
                            "TMPDIR": self.folder.name, "AUTOKERNEL_ARCHIVE": self.archive,
                            "AUTOKERNEL_CEILING_MIB": "8"} # runs last as usual: pages show them at work
        self.server = None
        self.db = None

    def tearDown(self):
        self.browser.open("about:blank") # or the page would ask for a server that is gone
        self.browser.errors()
        self.stop()
        if self.db is not None:
            self.db.close()
        self.folder.cleanup()

    # ---- the server and the archive

    def start(self, *words):
        self.server = subprocess.Popen([EXECUTABLE, "serve", "--port", str(self.port), *words],
                                       stdout=subprocess.PIPE, text=True, env=self.environment)
        line = self.server.stdout.readline()
        self.assertIn(f":{self.port}/", line)

    def stop(self):
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.assertEqual(self.server.wait(20), 0)
            self.server.stdout.close()
            self.server = None

    def make_archive(self):
        """By the program itself: importing a file without trials of ours creates the tables."""
        path = os.path.join(self.folder.name, "one.csv")
        with open(path, "w", encoding="utf-8") as out:
            out.write("run,name,ms,status,config,device,size,dtype\n"
                      "0011,earlier,2.5,ok,A=1,host,M=64,f32\n")
        subprocess.run([EXECUTABLE, "import", path], check=True, env=self.environment,
                       stdout=subprocess.DEVNULL)
        self.db = sqlite3.connect(self.archive, isolation_level=None)

    def program(self, *words):
        subprocess.run([EXECUTABLE, *words], check=True, env=self.environment,
                       stdout=subprocess.DEVNULL)

    def begin(self, run, kernel="matmul"):
        self.db.execute(RUN, (run, now(), kernel, '{"evaluations": 60}'))

    def add(self, run, ms, kernel="matmul", reason=None):
        count = self.db.execute("SELECT count(*) FROM trials").fetchone()[0]
        ok = reason is None
        self.db.execute(TRIAL, (run, now(), kernel, f"A={count % 7},B={count % 3}",
                                "ok" if ok else "compile_error", reason, ms if ok else None,
                                ms * 0.99 if ok else None, ms * 1.01 if ok else None))

    def address(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    # ---- tests

    def test_live(self):
        browser = self.browser
        self.start()
        browser.open(self.address())
        browser.wait("return document.body.innerText.includes('No run is under way')")
        self.assertFalse(os.path.exists(self.archive)) # looking makes nothing
        browser.wait("return document.querySelector('.state').textContent === 'live'")
        self.make_archive()
        browser.wait("return document.body.innerText.includes('earlier')")
        self.begin("aa11", HOSTILE)
        browser.wait("return document.querySelectorAll('#running tbody tr').length === 1")
        self.add("aa11", 3.0, HOSTILE)
        browser.wait("return document.querySelector('#running').innerText.includes('1 of 60')")
        self.assertIn(HOSTILE, browser.run("return document.body.innerText"))
        # What its device does, and a study that ends meanwhile.
        self.assertIn("host@node1", browser.run("return document.querySelector('#running')"
                                                ".innerText"))
        self.program("study", RECORDING, "--seeds", "2", "--evals", "6", "--quiet")
        browser.wait("return document.querySelectorAll('#studies tbody tr.over').length === 1")
        # A real run.
        self.program("tune", "matmul", "--device", "sim:" + RECORDING, "--evals", "8", "--quiet")
        browser.wait("return document.querySelector('#runs').innerText.includes('sim:host')")
        browser.run("document.querySelector('#studies tbody a').click()")
        browser.wait("return location.pathname === '/study/1' &&"
                     " document.querySelector('#quality .chart') !== null")
        for section, colors in browser.run(CANVASES):
            self.assertGreater(colors, 4, section)
        browser.open(self.address())
        browser.wait("return document.querySelectorAll('#running tbody a').length > 0")

        # The page of the run, whose link is in the list.
        browser.run("document.querySelector('#running tbody a').click()")
        browser.wait("return location.pathname === '/run/aa11' &&"
                     " document.querySelector('#convergence .chart') !== null")
        trials = "return document.querySelectorAll('#table tbody tr').length"
        self.assertEqual(browser.run(trials), 1)
        browser.run("const input = document.querySelector('#table input');"
                    "input.value = 'status=ok'; input.dispatchEvent(new Event('input'));")
        for i in range(20):
            self.add("aa11", 3.0 - i / 10, HOSTILE)
        self.add("aa11", 0, HOSTILE, reason=HOSTILE)
        browser.wait("return document.querySelectorAll('#table tbody tr').length === 21")
        self.assertEqual(browser.run("return document.querySelector('#table input').value"),
                         "status=ok")
        for section, colors in browser.run(CANVASES):
            self.assertGreater(colors, 4, section)
        self.assertEqual(browser.errors(), [])

        # Without a server for a while: what happened meanwhile is not lost.
        self.stop()
        browser.wait("return document.querySelector('.state').textContent.includes('gone')")
        self.add("aa11", 0.5, HOSTILE)
        self.db.execute("UPDATE runs SET ended = ?, result = ? WHERE id = 'aa11'",
                        (now(), json.dumps({"evaluated": 23, "failed": {"compile_error": 1},
                                            "stopped_by": "evaluations",
                                            "best": {"config": "A=1,B=1", "ms": 0.5}})))
        self.start()
        browser.wait("return document.body.innerText.includes('takes 0.5000 ms')")
        browser.wait("return document.querySelector('.state').textContent === 'live'")
        self.assertIsNone(browser.run("return window.attacked || null"))
        refused = [e for e in browser.errors() if "ERR_CONNECTION_REFUSED" not in e and
                   "ERR_INCOMPLETE_CHUNKED" not in e and "ERR_EMPTY_RESPONSE" not in e]
        self.assertEqual(refused, [])
        browser.open(self.address("/run/nothing"))
        browser.wait("return document.body.innerText.includes('has no run nothing')")

    def test_two_windows(self):
        """Two windows on one dashboard follow the same run, and a browser of its own does."""
        browser = self.browser
        self.make_archive()
        self.begin("dd44")
        self.start()
        first = browser.ask("GET", browser.session + "/window")
        browser.open(self.address())
        live = "return document.querySelector('.state')?.textContent === 'live'"
        browser.wait(live)
        second = browser.ask("POST", browser.session + "/window/new", {"type": "window"})["handle"]

        def turn(handle):
            browser.ask("POST", browser.session + "/window", {"handle": handle})

        try:
            turn(second)
            browser.open(self.address("/run/dd44"))
            browser.wait(live)
            with Browser() as other:
                other.open(self.address())
                other.wait(live)
                for count in (1, 2, 3):
                    self.add("dd44", 3.0 / count)
                    says = f"return document.querySelector('#running').innerText.includes('{count} of 60')"
                    turn(first)
                    browser.wait(says)
                    other.wait(says)
                    turn(second)
                    browser.wait("return document.querySelectorAll('#table tbody tr').length === "
                                 f"{count}")
                self.assertEqual(other.errors(), [])
            self.assertEqual(browser.errors(), [])
        finally:
            turn(second)
            browser.ask("DELETE", browser.session + "/window")
            turn(first)

    def press(self, key):
        code = {"ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Escape": 27, "Tab": 9, "Space": 32}[key]
        text = {"Enter": "\r", "Space": " "}.get(key)
        self.browser.command("Input.dispatchKeyEvent", type="keyDown", code=key,
                             key=" " if key == "Space" else key, windowsVirtualKeyCode=code,
                             **({"text": text} if text else {}))
        self.browser.command("Input.dispatchKeyEvent", type="keyUp", code=key,
                             key=" " if key == "Space" else key, windowsVirtualKeyCode=code)

    def test_keyboard(self):
        """Tab reaches all that a pointer can, keys work as in the report, and news take no focus."""
        browser = self.browser
        self.make_archive()
        for run in ("ee51", "ee52", "ee53"):
            self.begin(run)
            self.add(run, 2.0)
        self.start()
        browser.open(self.address())
        browser.wait("return document.querySelectorAll('#running a').length >= 3")
        browser.run("""window.reached = new Set(); addEventListener('focusin', (event) =>
            reached.add(event.target)); document.activeElement.blur();
            window.wanted = () => [...document.querySelectorAll('a[href], button, input, select,' +
                ' summary, .chart')].filter((e) => e.checkVisibility());""")
        for _ in range(browser.run("return wanted().length") + 20):
            self.press("Tab")
        self.assertEqual(browser.run("return wanted().filter((e) => !reached.has(e))"
                                     ".map((e) => e.outerHTML)"), [])
        # A header sorts by Space, and news leave the order and the focus where they are.
        focus = "document.querySelector(arguments[0]).focus()"
        at = "return document.activeElement.textContent"
        order = ("return document.querySelector('#runs th:nth-child(3)').getAttribute('aria-sort')")
        browser.run(focus, "#runs th:nth-child(3) button")
        self.press("Space")
        self.assertEqual(browser.run(order), "ascending")

        def news(run="ee51"):
            drawn = browser.run("return document.documentElement.dataset.drawn")
            self.add(run, 1.9)
            browser.wait("return document.documentElement.dataset.drawn !== arguments[0]", 60, drawn)

        news()
        self.assertEqual(browser.run(order), "ascending")
        self.assertEqual(browser.run(at), "best")
        self.press("Enter")
        self.assertEqual(browser.run(order), "descending")
        # The colours, the task of the history and its chart.
        browser.run(focus, "button.theme")
        self.press("Enter")
        self.assertEqual(browser.run(at), "light")
        news()
        self.assertEqual(browser.run(at), "light")
        browser.run(focus, "#history select")
        news()
        self.assertEqual(browser.run("return document.activeElement.tagName"), "SELECT")
        self.press("Tab")
        self.press("ArrowRight")
        facts = "return document.querySelector('#history .facts')?.textContent"
        said = browser.wait(facts)
        news()
        self.assertEqual(browser.wait(facts), said)
        self.press("Enter") # as a click on the point does
        browser.wait("return location.pathname.startsWith('/run/ee5') &&"
                     " document.querySelector('#convergence .chart') !== null")
        run = browser.run("return location.pathname.slice('/run/'.length)")
        # The page of a run: a chart that has the focus keeps it, and the point.
        browser.run(focus, "#convergence .chart")
        self.press("ArrowRight")
        facts = "return document.querySelector('#convergence .facts')?.textContent"
        said = browser.wait(facts)[:len("evaluation 1")] # news may tell more of it
        news(run)
        self.assertTrue(browser.wait(facts).startswith(said))
        self.assertTrue(browser.run("return document.activeElement.matches('#convergence .chart')"))
        browser.run(focus, "header a")
        self.press("Enter")
        browser.wait("return location.pathname === '/' && document.querySelector('#running a')")
        browser.run(focus, "#running tbody a")
        self.press("Enter")
        browser.wait("return location.pathname.startsWith('/run/')")
        self.assertEqual(browser.errors(), [])

    def test_killed_and_resumed(self):
        """A tuner that is killed and goes on with --resume while the page looks."""
        if shutil.which("gcc") is None:
            self.skipTest("no gcc")
        kernel = os.path.join(self.folder.name, "mine")
        self.program("new", "kernel", kernel)
        self.start()
        browser = self.browser
        browser.open(self.address())
        words = [EXECUTABLE, "tune", kernel, "--device", "host", "--evals", "1000000", "--time", "5m",
                 "--quiet"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        links = ("return new Set([...document.querySelectorAll('#running a[href^=\"/run/\"]')]"
                 ".map((a) => a.href)).size")
        with subprocess.Popen(words, env=self.environment, **quiet) as tuner:
            browser.wait(links + " === 1 && /[1-9]\\d* of/.test(document.body.innerText)")
            tuner.kill()
        browser.wait("return document.querySelector('#runs').innerText.includes('killed')", 30)
        with subprocess.Popen([*words, "--resume"], env=self.environment, **quiet) as tuner:
            try:
                browser.wait("return [...document.querySelectorAll('#runs td')].some((td) =>"
                             " td.textContent === 'running')")
                browser.wait("return /[1-9]\\d* of/.test(document.querySelector('#running').innerText)")
            finally:
                tuner.send_signal(signal.SIGINT)
        self.assertEqual(browser.errors(), [])

    def test_fleet(self):
        """Workers that start, work or are lost, before and during a run over a launcher."""
        if shutil.which("gcc") is None:
            self.skipTest("no gcc")
        launch = os.path.join(self.folder.name, "launch.sh")
        with open(launch, "w", encoding="utf-8") as out:
            out.write('worker=$1; shift\n[ $worker = 0 ] && exec "$@"\n'
                      "[ $worker = 1 ] && exec sleep 300\n"
                      "echo '<b>Permission denied</b>' >&2; exit 255\n")
        kernel = os.path.join(self.folder.name, "mine")
        self.program("new", "kernel", kernel)
        # With compilers that take their time the run goes on until a worker is given up, and no processor is busy.
        slow = os.path.join(self.folder.name, "slow")
        os.mkdir(slow)
        for name in filter(shutil.which, ("gcc", "clang")):
            with open(os.path.join(slow, name), "w", encoding="utf-8") as out:
                out.write(f'#!/bin/sh\ncase "$*" in *" -o "*) sleep 1;; esac\nexec {shutil.which(name)} "$@"\n')
            os.chmod(os.path.join(slow, name), 0o755)
        environment = dict(self.environment, PATH=slow + os.pathsep + self.environment["PATH"])
        self.start()
        with subprocess.Popen([EXECUTABLE, "tune", kernel, "--launcher", f"cmd:sh {launch} {{worker}}",
                               "--workers", "1-3", "--device", "host", "--evals", "1000000", "--time",
                               "5m", "--quiet"], env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as tuner:
            browser = self.browser
            browser.open(self.address())
            rows = ("const rows = [...document.querySelectorAll('#running table')].pop();"
                    " return rows && rows.innerText.includes(arguments[0])")
            try:
                for words in ("starting", "at work", "given up", "<b>Permission denied</b>"):
                    browser.wait(rows, 60, words)
                browser.wait("return document.querySelectorAll('#running a[href^=\"/run/\"]').length > 1")
                # The machine of the one at work compiles, too.
                browser.wait("return /[1-9]\\d* compile workers? on their machines/.test("
                             "document.querySelector('#running').innerText)")
                browser.wait(rows, 60, "compile workers")
                self.assertEqual(browser.errors(), [])
            finally:
                tuner.send_signal(signal.SIGINT)
            tuner.wait(60)
            # A tuner that ends takes its workers with it.
            browser.wait("return !document.body.innerText.includes('Workers on other machines')")

    def ask(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host="Host" in named)
        for name, value in named.items():
            connection.putheader(name, value)
        connection.endheaders()
        reply = connection.getresponse()
        body = reply.read() if reply.getheader("Content-Type") != "text/event-stream" else b""
        connection.close()
        return reply.status, reply, body.decode()

    def test_who_may_ask(self):
        self.make_archive()
        self.start()
        status, reply, _ = self.ask("/")
        self.assertEqual(status, 200)
        policy = reply.getheader("Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertIsNone(reply.getheader("Access-Control-Allow-Origin"))
        for path in ("/", "/api/runs", "/api/run/0011", "/events", "/assets/page.js"):
            self.assertEqual(self.ask(path, Host="evil.example")[0], 403, path)
            self.assertEqual(self.ask(path, Host=f"evil.example:{self.port}")[0], 403, path)
            self.assertEqual(self.ask(path, Origin="http://evil.example")[0], 403, path)
            self.assertEqual(self.ask(path, Sec_Fetch_Site="cross-site")[0], 403, path)
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                self.assertEqual(self.ask(path, method)[0], 405, path)
        for path in ("/../../etc/passwd", "/assets/../../../etc/passwd", "/assets/%2e%2e/page.js",
                     "/assets/..%2f..%2fetc%2fpasswd", "//etc/passwd", "/run/..%2f", "/api/run/",
                     "/api/run/..%2f..%2fruns.db", "/runs.db", "/assets/", "/assets/nothing.js",
                     "/api/run/" + "a" * 5000):
            status, _, body = self.ask(path)
            self.assertIn(status, (400, 404, 414, 431), path)
            self.assertNotIn("root:", body)
        for path in ("/api/study/1", "/api/study/0", "/api/study/-1", "/api/study/1e3", "/api/study/",
                     "/api/study/99999999999999999999", "/study/..%2f"):
            self.assertEqual(self.ask(path)[0], 404, path)
        self.assertEqual(self.ask("/api/run/nothing")[0], 404)
        runs = json.loads(self.ask("/api/runs")[2])
        self.assertEqual(runs["runs"][0]["kernel"], "earlier")
        self.assertEqual(runs["killed"], [])
        self.assertEqual(json.loads(self.ask("/api/run/0011")[2])["kind"], "run")

    def events(self, last=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", "/events", headers={} if last is None else {"Last-Event-ID": last})
        return connection, connection.getresponse()

    @staticmethod
    def event(stream):
        """The next event of runs: its id and its runs."""
        place = kind = None
        for line in iter(stream.fp.readline, b""):
            text = line.decode().strip()
            if text.startswith("id: "):
                place = text[4:]
            if text.startswith("event: "):
                kind = text[7:]
            if text.startswith("data: ") and kind == "runs":
                return place, json.loads(text[6:])
        return None, None

    def test_events(self):
        self.make_archive()
        self.start()
        connection, stream = self.events()
        place, runs = self.event(stream)
        self.assertEqual([run["id"] for run in runs], ["0011"])
        self.begin("bb22")
        self.add("bb22", 1.5)
        latest = None
        while latest is None or latest["trials"] != 1:
            later, runs = self.event(stream)
            latest = runs[-1]
        self.assertEqual([run["id"] for run in runs], ["bb22"])
        connection.close()
        # Whoever comes back with the first place gets what came after it, also from a new server.
        self.stop()
        self.start()
        connection, stream = self.events(place)
        self.assertEqual([run["id"] for run in self.event(stream)[1]], ["bb22"])
        connection.close()
        self.begin("cc33")
        connection, stream = self.events(later)
        self.assertEqual([run["id"] for run in self.event(stream)[1]], ["cc33"])
        connection.close()

    def silent(self, count, text=b""):
        """Connections that say this and no more."""
        made = []
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", self.port), 20)
            one.sendall(text)
            self.addCleanup(one.close)
            made.append(one)
        return made

    def test_crowd(self):
        """Whoever connects and says nothing, half a request or nothing any more takes no place."""
        self.make_archive()
        self.start()
        events = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()
        for one in self.silent(70, events):
            one.close()
        self.assertEqual(self.ask("/events")[0], 200)
        self.silent(70, b"GET / HT")
        self.silent(70)
        self.silent(70, events)
        for path in ("/", "/api/runs", "/events"):
            self.assertEqual(self.ask(path)[0], 200, path)
        # What is asked for is not told back as an event.
        forged, = self.silent(1, events.replace(b"/events", b"/events?since=1.1.1.1%0aevent:forged%0a%0a"))
        self.assertNotIn(b"forged", forged.recv(1 << 16))

    def test_spoiled(self):
        """Rows that another program wrote: the page shows the others, and what happens goes on."""
        browser = self.browser
        self.make_archive()
        self.begin("aa11", "mat\u202emul")
        self.add("aa11", 3.0)
        self.db.executescript(
            "UPDATE trials SET checksum = NULL; UPDATE trials SET ms = 9e999, tflops = 9e999;"
            "UPDATE runs SET ended = '2026' || char(10) || 'event: forged' WHERE id = '0011';"
            "INSERT INTO studies (ended, kind, result) VALUES ('x', 'study', '{'), ('x', 'study', '[]');"
            "CREATE TABLE IF NOT EXISTS fleets (id TEXT PRIMARY KEY, seen TEXT NOT NULL, run TEXT,"
            " about TEXT NOT NULL, workers TEXT NOT NULL);"
            f"INSERT INTO fleets VALUES ('f', '{now()}', NULL, 'x', '{{\"map\": 1}}'),"
            f" ('g', '{now()}', NULL, 'x', '[3, {{\"state\": \"lost\"}}]');")
        self.start()
        browser.open(self.address())
        browser.wait("return document.querySelector('.state')?.textContent === 'live'")
        browser.wait("return document.querySelector('#running').innerText.includes('2 lost')"
                     " || document.querySelector('#running').innerText.includes('1 lost')")
        self.assertNotIn("\u202e", browser.run("return document.body.innerText"))
        self.begin("bb22")
        browser.wait("return document.querySelectorAll('#runs tbody a').length === 3")
        browser.open(self.address("/run/aa11"))
        browser.wait("return document.body.innerText.includes('is not a finite number')")

    def test_own_address(self):
        self.start("--listen", "127.0.0.2")
        connection = http.client.HTTPConnection("127.0.0.2", self.port, timeout=20)
        connection.request("GET", "/api/runs")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    def test_token(self):
        refused = subprocess.run([EXECUTABLE, "serve", "--listen", "0.0.0.0"], capture_output=True,
                                 text=True, env=self.environment, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--token-file", refused.stderr)
        path = os.path.join(self.folder.name, "token")
        with open(path, "w", encoding="utf-8") as out:
            out.write("correct-horse-battery-staple\n")
        os.chmod(path, 0o644)
        readable = subprocess.run([EXECUTABLE, "serve", "--token-file", path], capture_output=True,
                                  text=True, env=self.environment, check=False)
        self.assertEqual(readable.returncode, 2)
        self.assertIn("chmod 600", readable.stderr)
        os.chmod(path, 0o600)
        self.start("--listen", "0.0.0.0", "--token-file", path)
        self.assertEqual(self.ask("/api/runs")[0], 401)
        self.assertEqual(self.ask("/?token=wrong")[0], 401)
        self.assertEqual(self.ask("/api/runs", Authorization="Bearer correct-horse-battery-staple",
                                  Host="bench.example")[0], 200)
        status, reply, _ = self.ask("/?token=correct-horse-battery-staple")
        self.assertEqual((status, reply.getheader("Location")), (303, "/"))
        cookie = reply.getheader("Set-Cookie")
        self.assertIn("HttpOnly; SameSite=Strict", cookie)
        self.assertEqual(self.ask("/api/runs", Cookie=cookie.split(";")[0])[0], 200)


def no_library():
    try:
        ctypes.CDLL("libmicrohttpd.so.12")
        return None
    except OSError:
        return "no libmicrohttpd.so.12 (Debian: apt-get install libmicrohttpd12)"


if __name__ == "__main__":
    for why in (missing(), no_library()):
        if why:
            print(why)
            sys.exit(77)
    EXECUTABLE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
