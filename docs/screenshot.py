"""Pages as images for README and docs, by Debian's Chromium and Playwright (both of the extra [dev])."""

from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
DRAWN = "!document.querySelector('.plot-data') || document.documentElement.dataset.plots === 'drawn'"


def screenshot(page: Path, width: int, height: int | None = None, *, scale: float = 1.0) -> Image.Image:
    """A page, ``width`` of its own pixels wide, each drawn as ``scale`` pixels in each direction.

    ``height``: of the part at its top; None for the whole page. Light theme. Waits until the page's plots are drawn.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": width, "height": height or 1}, device_scale_factor=scale, color_scheme="light"
        )
        tab = context.new_page()
        tab.goto(page.resolve().as_uri())
        tab.wait_for_function(DRAWN)
        data = tab.screenshot(full_page=height is None)
        browser.close()
    return Image.open(BytesIO(data)).convert("RGB")
