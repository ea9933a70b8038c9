"""Headless Chromium, driven over its debugging pipe with the standard library alone.

Messages are JSON, each ended by a zero byte: Chromium reads them on descriptor 3 and writes on 4.
Source: https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND"
PATIENCE_S = 60.0


class Browser:
    """A page in a browser that has no network. ``complaints`` holds errors and warnings of its console."""

    def __init__(self, folder):
        """Args: folder, an empty one for the browser's profile."""
        ours, theirs = _pipe(), _pipe()
        flags = [*FLAGS, NO_NETWORK, f"--user-data-dir={folder}"]
        self.process = subprocess.Popen(
            [CHROMIUM, *flags, "about:blank"],
            preexec_fn=lambda: (os.dup2(theirs[0], 3), os.dup2(ours[1], 4)),
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs[0])
        os.close(ours[1])
        self.read_from, self.write_to = ours[0], theirs[1]
        self.buffer, self.count, self.session = b"", 0, None
        self.complaints, self.events = [], []
        self._attach()

    def _attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Send one command and wait for its answer; events that come meanwhile are kept."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self.count:
            self._note(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _next(self):
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_from], [], [], max(0.0, end - time.monotonic()))
            assert ready, "chromium does not answer"
            found = os.read(self.read_from, 1 << 20)
            assert found, "chromium has ended"
            self.buffer += found
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        method, params = event.get("method"), event.get("params", {})
        self.events.append((method, params))
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning", "assert"}:
            self.complaints.append(" ".join(str(part.get("value", part)) for part in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(params["entry"]["text"])

    def open(self, path, until="document.readyState === 'complete'"):
        """Load a file and wait until an expression holds."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait(f"location.protocol === 'file:' && ({until})")

    def wait(self, expression):
        """Until it holds; fails after a minute with what the console said."""
        end = time.monotonic() + PATIENCE_S
        guarded = f"(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()"
        while not self.run(guarded):
            assert time.monotonic() < end, f"{expression} never held; console: {self.complaints}"
            time.sleep(0.02)

    def run(self, expression):
        """The value of a JavaScript expression, waited for if it is a promise."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key):
        """One key, down and up."""
        text = {"Enter": "\r", "Space": " "}.get(key)
        name = {"Space": " "}.get(key, key)
        code = {"Enter": 13, "Space": 32, "Tab": 9, "Escape": 27}[key]
        shared = {"key": name, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **shared, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def size(self, width, height=900):
        """The window's size in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def prefer(self, scheme, media=""):
        """Pretend that the reader prefers light or dark, and that the page is on a medium such as print."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media=media, features=[feature])

    def screenshot(self, whole=True):
        """A PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def printed(self):
        """A PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def requests(self):
        """Addresses that the page asked for, other than its own file."""
        asked = [p["request"]["url"] for method, p in self.events if method == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]

    def close(self):
        """End the browser, and wait for it."""
        self.session = None
        os.write(self.write_to, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_from)
        os.close(self.write_to)


def _pipe():
    """Two ends, numbered above those that the browser is given."""
    found = []
    for end in os.pipe():
        found.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(end)
    return found
