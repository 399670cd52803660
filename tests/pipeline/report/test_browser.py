"""The report in a real browser: nothing is fetched, nothing fails, and all that can be operated can be by keyboard."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.report.deployment_page import write_report
from tests.pipeline.report.browser import Shown, chromium
from tests.pipeline.report.made import made_data

pytest.importorskip("bokeh", reason="plots are Bokeh's")
PHONE = 360


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return write_report(folder, made_data(folder))


def visible(shown: Shown) -> list[str]:
    """The titles of the first image's panels that can be seen."""
    panels = shown.page.locator(".image").first.locator(".panel")
    found = [panels.nth(number) for number in range(panels.count())]
    return [panel.locator("b").text_content() for panel in found if panel.locator("img").is_visible()]


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        (PHONE, "dark"),
        pytest.param(PHONE, "light", marks=pytest.mark.slow),
        pytest.param(1280, "light", marks=pytest.mark.slow),
        pytest.param(1280, "dark", marks=pytest.mark.slow),
    ],
)
def test_a_report_shows_without_a_complaint(browser: Any, report: Path, width: int, theme: str) -> None:
    shown = Shown(browser, report, width=width, theme=theme)
    assert shown.page.locator(".canvas canvas").count() > 0 or shown.page.locator(".canvas .bk-Figure").count() > 0
    assert shown.overflow() == 0
    for part in shown.page.locator("summary").all():
        part.click()
    assert shown.overflow() == 0
    assert shown.complaints == []
    dark = sum(map(int, re.findall(r"\d+", shown.colour("body"))[:3])) < 3 * 128
    assert dark == (theme == "dark")
    shown.context.close()


@pytest.mark.slow
def test_the_theme_by_mouse_and_by_keyboard(browser: Any, report: Path) -> None:
    shown = Shown(browser, report)
    button = shown.page.locator("#theme")
    light = shown.colour("body")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert shown.colour("body") != light
    assert shown.page.locator(".canvas").first.get_attribute("data-drawn") == "dark"
    button.focus()
    shown.page.keyboard.press("Enter")
    assert shown.colour("body") == light
    assert shown.complaints == []
    shown.context.close()


@pytest.mark.slow
def test_images_by_mouse_and_by_keyboard(browser: Any, report: Path) -> None:
    shown = Shown(browser, report)
    assert visible(shown) == ["PyTorch", "onnxruntime", "difference"]
    shown.page.get_by_text("difference", exact=True).first.click()
    assert visible(shown) == ["difference"]
    shown.page.keyboard.press("ArrowLeft")
    assert visible(shown) == ["onnxruntime"]
    shown.page.keyboard.press("ArrowLeft")
    assert visible(shown) == ["PyTorch"]
    assert shown.colour(".choice label:has(:focus-visible)", "outline-style") == "solid"
    shown.page.keyboard.press("ArrowLeft")
    assert visible(shown) == ["PyTorch", "onnxruntime"]  # one over the other, with the slider
    slider = shown.page.locator(".slider input").first
    over = ".image .panel[data-panel='1']"
    assert shown.colour(over, "clip-path") == "inset(0px 0px 0px 50%)"
    slider.focus()
    for _ in range(3):
        shown.page.keyboard.press("ArrowRight")
    assert shown.colour(over, "clip-path") == "inset(0px 0px 0px 53%)"
    assert shown.complaints == []
    shown.context.close()


@pytest.mark.slow
def test_a_phone_starts_with_the_slider_and_every_control_is_reached_by_tab(browser: Any, report: Path) -> None:
    shown = Shown(browser, report, width=PHONE)
    assert shown.page.locator("#images").get_attribute("data-view") == "slide"
    reached = set()
    for _ in range(40):
        shown.page.keyboard.press("Tab")
        reached.add(shown.page.evaluate("document.activeElement.type || document.activeElement.tagName"))
    assert {"A", "button", "radio", "range"} <= reached
    shown.context.close()


@pytest.mark.slow
def test_on_paper_all_is_open_and_light(browser: Any, report: Path) -> None:
    shown = Shown(browser, report, theme="dark")
    shown.page.get_by_text("difference", exact=True).first.click()
    shown.page.emulate_media(media="print")
    assert visible(shown) == ["PyTorch", "onnxruntime", "difference"]
    assert shown.colour("body") == "rgb(255, 255, 255)"
    assert not shown.page.locator("#theme").is_visible()
    assert "invert" in shown.colour(".canvas", "filter")
    shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.page.locator("details:not([open])").count() == 0
    shown.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert shown.page.locator("details[open]").count() == 0
    shown.context.close()


@pytest.mark.slow
def test_without_a_script_all_is_there(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".panel img").count() == 12
    assert all(image.is_visible() for image in page.locator(".panel img").all())
    assert not page.locator("#theme").is_visible()
    context.close()
