"""What all pages share, and the pages of two and of many deployments, in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.report.browser import Shown, chromium
from tests.pipeline.report.made_pages import PAGES, PLOTTED, comparison_page, zoo_page

pytest.importorskip("bokeh", reason="plots are Bokeh's")
PHONE = 360
CUT = """() => [...document.querySelectorAll("tbody td, tbody th, dd, dt, figcaption, .wide")]
  .filter((one) => one.checkVisibility())
  .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth)
  .map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAGES)
def test_nothing_is_cut_on_a_phone(browser: Any, tmp_path: Path, kind: str) -> None:
    shown = Shown(browser, PAGES[kind](tmp_path), width=390, plots=kind in PLOTTED)
    for part in shown.page.locator("summary").all():
        part.click()
    assert shown.page.evaluate(CUT) == []
    assert shown.overflow() == 0
    if kind == "zoo":
        cell = shown.page.locator("td[data-label=latency]").first
        assert cell.evaluate("e => getComputedStyle(e, '::before').content") == '"latency"'
        assert cell.evaluate("e => e.innerText").split("\n") == ["6.5 ms", "PyTorch 1234 ms, batch 2"]
    shown.context.close()


def test_the_theme_is_right_and_kept_on_pages_without_plots(browser: Any, tmp_path: Path) -> None:
    shown = Shown(browser, zoo_page(tmp_path), theme="dark", plots=False)
    button = shown.page.locator("#theme")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    light = shown.colour("body")
    shown.page.goto(comparison_page(tmp_path).as_uri())
    assert button.get_attribute("aria-pressed") == "false"
    assert shown.colour("body") == light
    shown.page.go_back()
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert shown.colour("body") != light
    assert shown.complaints == []
    shown.context.close()


def test_a_comparison_begins_with_what_differs(browser: Any, tmp_path: Path) -> None:
    shown = Shown(browser, comparison_page(tmp_path), plots=False)
    rows = shown.page.locator("tbody th")

    def visible_rows() -> list[str]:
        return [row.inner_text() for row in rows.all() if row.is_visible()]

    assert shown.page.locator("h2").all_inner_texts() == ["One thing differs", "What differs", "Images"]
    assert visible_rows() == ["opset", "export"]
    assert not shown.page.get_by_role("heading", name="Versions").is_visible()
    shown.page.get_by_label("only what differs").uncheck()
    assert visible_rows() == ["backend", "opset", "torch", "export"]
    assert shown.complaints == []
    shown.context.close()


@pytest.mark.slow
def test_a_zoo_is_sorted_and_filtered(browser: Any, tmp_path: Path) -> None:
    shown = Shown(browser, zoo_page(tmp_path), width=PHONE, plots=False)
    assert shown.overflow() == 0

    def names() -> list[str]:
        return [row.text_content()[0] for row in shown.page.locator("tbody th").all() if row.is_visible()]

    assert names() == ["b", "a", "g"]
    shown.page.get_by_role("button", name="model").click()
    assert names() == ["a", "b", "g"]
    assert shown.page.locator("th[aria-sort=ascending]").text_content() == "model"
    shown.page.keyboard.press("Enter")
    assert names() == ["g", "b", "a"]
    shown.page.get_by_role("button", name="size").click()
    assert names() == ["b", "g", "a"]  # by bytes, not by words
    shown.page.get_by_role("button", name="graph").click()
    assert names() == ["b", "a", "g"]  # what was not measured comes last
    shown.page.get_by_role("button", name="latency").click()
    assert names() == ["b", "a", "g"]
    shown.page.keyboard.press("Enter")
    assert names() == ["a", "b", "g"]
    shown.page.get_by_label("Filter").fill("GAMMA det")
    assert names() == ["g"]
    assert shown.complaints == []
    shown.context.close()
