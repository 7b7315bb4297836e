"""A headless Chromium, driven by its own protocol over a pair of pipes.

No driver and no port: `--remote-debugging-pipe` reads commands from file descriptor 3
and writes answers to 4, as JSON with a zero byte after each.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# A page that takes longer than this to answer has hung; no test measures time.
PATIENCE = 120

SPECIAL = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38,
           "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}  # fmt: skip


def program() -> str | None:
    """The browser that is installed here, None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


needs_browser = pytest.mark.skipif(
    program() is None, reason="no Chromium is installed here"
)


@contextlib.contextmanager
def browser(profile: pathlib.Path) -> Iterator[Browser]:
    """A browser that runs as long as the `with` block does."""
    found = program()
    assert found is not None
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    command = [
        found, "--headless", "--disable-gpu", "--no-sandbox", "--no-first-run",
        "--disable-dev-shm-usage", "--disable-background-networking", "--mute-audio",
        f"--user-data-dir={profile}", "--window-size=1400,900",
        "--remote-debugging-pipe", "about:blank",
    ]  # fmt: skip
    # The browser finds its ends as 3 and 4, whatever numbers they have here.
    shell = f'exec 3<&{to_read} 4>&{from_write}; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", *command],
        pass_fds=(to_read, from_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Browser(to_write, from_read)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(to_write)
        os.close(from_read)


class Browser:
    """One tab of a browser.

    Attributes:
      complaints: What the console was told at the levels of warnings and errors, and
        exceptions that nothing caught.
      requested: The addresses that were asked for.
    """

    def __init__(self, to: int, back: int):
        self._to = to
        self._back = back
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requested: list[str] = []
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.send(
            "Target.attachToTarget", targetId=page["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> Any:
        """Sends one command and returns its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self._hear(answer)

    def open(self, path: pathlib.Path) -> None:
        """Loads a file and waits until it has run."""
        self.complaints.clear()
        self.requested.clear()
        self.send("Page.navigate", url=path.as_uri())
        self.wait("document.readyState === 'complete'")

    def run(self, code: str) -> Any:
        """The value of an expression in the page."""
        done = self.send(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, (code, done["exceptionDetails"])
        return done["result"].get("value")

    def wait(self, code: str) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(code):
            assert time.monotonic() < end, f"never true: {code}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """The text of the first element."""
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def click(self, selector: str) -> None:
        """Clicks into the middle of an element, as a mouse does."""
        x, y = self.run(
            f"(() => {{const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      clickCount=1)  # fmt: skip
        self.frame()

    def press(self, key: str, commands: tuple[str, ...] = ()) -> None:
        """Presses a key; with editing commands (`paste`) where a shortcut is meant."""
        what = {"key": key, "commands": list(commands)}
        if key in SPECIAL:
            what["windowsVirtualKeyCode"] = SPECIAL[key]
        elif not commands:
            what["text"] = key
        self.send("Input.dispatchKeyEvent", type="keyDown", **what)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.frame()

    def type(self, text: str) -> None:
        """Puts a text where the cursor is."""
        self.send("Input.insertText", text=text)
        self.frame()

    def frame(self) -> None:
        """Waits until the page has been painted again."""
        self.run(
            "new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))"
        )

    def screenshot(self, path: pathlib.Path) -> None:
        """Keeps what is seen as a PNG."""
        shot = self.send("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._back], [], [], PATIENCE)
            assert ready, "the browser says nothing"
            read = os.read(self._back, 1 << 16)
            assert read, "the browser has gone"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _hear(self, event: Any) -> None:
        method, told = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            if told["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(told["args"]))
        elif method == "Log.entryAdded":
            if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requested.append(told["request"]["url"])
