"""The pages as axe-core judges them, in both themes, on a desk and on a phone.

axe-core is no package of Python. To run this: npm install --prefix DIR axe-core, then set ZOOPORT_AXE to
DIR/node_modules/axe-core/axe.min.js.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.report.browser import Shown, chromium
from tests.pipeline.report.made_pages import PAGES, PLOTTED

pytest.importorskip("bokeh", reason="plots are Bokeh's")
VARIABLE = "ZOOPORT_AXE"
GRAVE = ("serious", "critical")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(VARIABLE not in os.environ, reason=f"needs {VARIABLE}, the path of axe-core's axe.min.js"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


def faults(page: Any) -> list[str]:
    """The grave violations, each with the first element that has it."""
    page.evaluate(Path(os.environ[VARIABLE]).read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in GRAVE]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("kind", PAGES)
def test_no_serious_fault(browser: Any, tmp_path: Path, kind: str, width: int, theme: str) -> None:
    shown = Shown(browser, PAGES[kind](tmp_path), width=width, theme=theme, plots=kind in PLOTTED)
    for part in shown.page.locator("summary").all():
        part.click()
    for box in shown.page.locator("[data-hides-same]").all():
        box.uncheck()
    assert faults(shown.page) == []
    shown.context.close()


def test_a_serious_fault_is_found(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.html"
    path.write_text('<html lang="en"><title>t</title><main><img src="data:,"></main></html>', encoding="utf-8")
    shown = Shown(browser, path, plots=False)
    assert [fault.partition(":")[0] for fault in faults(shown.page)] == ["image-alt"]
    shown.context.close()
