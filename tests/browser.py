"""Debian's Chromium, driven by Playwright, with WebGL in software; and a window on a page of it."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """Where it is. Without one the tests are skipped, except in continuous integration, where that is a failure."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        reason = "there is no Chromium here (on Debian and Ubuntu: apt install chromium)"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return str(program)


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        try:
            yield opened
        finally:
            opened.close()


class Page:
    """A window on the page: where requests went and what went wrong is kept."""

    def __init__(
        self, browser: Any, url: str, *, width: int = 1280, height: int = 800, theme: str = "dark", **more: Any
    ):
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, **more)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.on("websocket", lambda w: self.requests.append(w.url))
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)
        self.page.goto(url)

    def ask(self, script: str, *args: Any) -> Any:
        return self.page.evaluate(script, *args)

    def wait(self, script: str, seconds: float = 30.0) -> Any:
        """Until a condition holds. (Playwright's own way evaluates text, which the page's policy forbids.)"""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.page.evaluate(script):
                return value
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s for {script}; the page says {self.wrong or 'nothing'}")

    def moving(self, more: int = 3) -> None:
        self.wait("!!window.attnflow && !!attnflow.page.running && attnflow.page.states > 0")
        now = self.ask("attnflow.page.states")
        self.wait(f"attnflow.page.states > {now + more}")

    def pause(self) -> None:
        self.ask("() => { if (attnflow.page.playing) document.getElementById('play').click(); }")
        self.wait("!attnflow.page.waiting")

    def tokens(self) -> list[float]:
        return self.ask("Array.from(attnflow.page.latest.points)")

    def close(self) -> None:
        self.context.close()
