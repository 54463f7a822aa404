"""webdriver.py: a headless Chromium through chromedriver, with nothing but the standard library.

    with Browser(width=800) as browser:
        browser.open("file:///tmp/report.html")
        browser.run("return document.title")
        browser.errors()                       what the console complained of since the last call

`missing()` says why there is no browser here, or None. Protocol: https://www.w3.org/TR/webdriver2/.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

# Gives the first true value of SCRIPT or, after a second, what it has; a page that is left meanwhile gives none.
WAIT = """
const given = arguments, wanted = function () { SCRIPT };
return new Promise((resolve, reject) => {
    const end = performance.now() + 1000;
    const look = () => {
        try {
            const value = wanted(...given);
            if (value || performance.now() > end) { resolve(value); } else { setTimeout(look, 50); }
        } catch (error) { reject(error); }
    };
    look();
});
"""
LEFT = ("aborted by navigation", "document unloaded", "navigated or closed")


def missing():
    if shutil.which("chromedriver") is None:
        return "no chromedriver (Debian: apt-get install chromium-driver)"
    if not any(map(shutil.which, CHROMIUM)):
        return "no chromium (Debian: apt-get install chromium)"
    return None


class Browser:
    def __init__(self, width=1440, height=900, dark=False):
        self.folder = tempfile.mkdtemp(prefix="browser")
        environment = dict(os.environ, HOME=self.folder, TMPDIR=self.folder)
        for name in [n for n in environment if n.lower().endswith("_proxy")]:
            del environment[name]
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, env=environment)
        self.base = None
        for line in self.driver.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                self.base = f"http://127.0.0.1:{found.group(1)}"
                break
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        binary = next(filter(None, map(shutil.which, CHROMIUM)))
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--force-device-scale-factor=1",
                     "--disable-background-networking", f"--user-data-dir={self.folder}/profile"]
        capabilities = {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"binary": binary, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"}}}
        value = self.ask("POST", "/session", {"capabilities": capabilities})
        self.session = "/session/" + value["sessionId"]
        self.resize(width, height)
        self.theme(dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", self.session)
        except OSError:
            pass
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with self.opener.open(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise OSError(json.load(error)["value"]["message"].split("\n")[0]) from None

    def command(self, name, **parameters):
        """A command of the DevTools protocol."""
        return self.ask("POST", self.session + "/goog/cdp/execute",
                        {"cmd": name, "params": parameters})

    def resize(self, width, height):
        self.width, self.height = width, height
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)

    def theme(self, dark):
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address):
        self.ask("POST", self.session + "/url", {"url": address})

    def run(self, script, *arguments):
        return self.ask("POST", self.session + "/execute/sync",
                        {"script": script, "args": list(arguments)})

    def wait(self, script, seconds=60, *arguments):
        """Until the script gives something true; that. The page looks itself: to ask it from here each
        time keeps this process, chromedriver and the browser at work."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.run(WAIT.replace("SCRIPT", script), *arguments)
            except OSError as error:
                if not any(words in str(error) for words in LEFT):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise OSError(f"not within {seconds} s: {script}")

    def errors(self):
        log = self.ask("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING") and
                "willReadFrequently" not in entry["message"]] # of our own looking at canvases

    def screenshot(self, path, whole=True):
        parameters = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            self.run("ak.draw_rest()") # what is not near the screen, too
            height = self.run("return document.documentElement.scrollHeight")
            parameters["clip"] = {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}
        data = self.command("Page.captureScreenshot", **parameters)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))


# For each chart how many colours its canvases show: a chart that was not drawn has one, the ground.
CANVASES = """
ak.draw_rest();
return Array.from(document.querySelectorAll(".chart"), (box) => {
    const colors = new Set();
    for (const canvas of box.querySelectorAll("canvas")) {
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        for (let i = 0; i < data.length; i += 4 * 5) { // every fifth pixel: a line is wider
            if (data[i + 3] !== 0) { colors.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]); }
        }
    }
    return [box.closest("section").id, colors.size];
});
"""
