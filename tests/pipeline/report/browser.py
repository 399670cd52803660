"""Debian's Chromium, driven by Playwright; whatever a page logs, throws or asks the network for is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
DRAWN = "html[data-plots=drawn]"


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window. Skips where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM.is_file():
        pytest.skip(f"needs {CHROMIUM}")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


class Shown:
    """A page that is shown, and its ``complaints``: errors on the console, exceptions, requests beyond the file."""

    def __init__(
        self, browser: Any, path: Path, *, width: int = 1280, theme: str = "light", plots: bool = True
    ) -> None:
        self.complaints: list[str] = []
        self.context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=theme, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._request)
        self.page.goto(path.as_uri())
        if plots:
            self.page.wait_for_selector(DRAWN, state="attached", timeout=60_000)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.complaints.append(request.url)

    def colour(self, selector: str, name: str = "background-color") -> str:
        """A computed style."""
        found: str = self.page.eval_on_selector(selector, f"e => getComputedStyle(e).getPropertyValue('{name}')")
        return found

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        found: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return found
