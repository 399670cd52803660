"""What a page owes those who see little or nothing, as far as its text alone shows it; the rest is test_axe.py's."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import pipeline.report
from tests.pipeline.report.made_pages import PAGES
from tests.pipeline.report.parsed import Page

pytest.importorskip("bokeh", reason="plots are Bokeh's")
READABLE = 4.5  # WCAG 2, 1.4.3: contrast of text
STYLE = Path(pipeline.report.__file__).parent / "style.css.jinja"
TEXT_ON_PAPER = [
    (ink, paper) for ink in ("ink", "soft", "accent", "good", "bad", "open") for paper in ("paper", "back")
]
TEXT_ELSEWHERE = [("paper", "accent")]
TEXT_ELSEWHERE += [(ink, f"{kind}-back") for kind in ("good", "bad", "open") for ink in (kind, "ink")]


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page(PAGES[request.param](tmp_path_factory.mktemp("page")).read_text(encoding="utf-8"))


def test_headings_do_not_skip_a_level(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_image_says_what_it_shows(page: Page) -> None:
    assert page.all("img") or 'class="plot"' in page.source
    assert all(image["alt"] for image in page.all("img"))


def test_every_control_has_a_name(page: Page) -> None:
    assert page.unlabelled == []
    assert all(re.findall(r"<button[^>]*>\s*([^<]*)", page.source))
    places = [attributes for tag, attributes in page.tags if "tabindex" in attributes]
    assert all(attributes["aria-label"] for attributes in places)


def test_every_table_has_a_caption_and_heads_of_rows_and_columns(page: Page) -> None:
    assert len(page.all("caption")) == len(page.all("table")) > 0
    assert {head.get("scope") for head in page.all("th")} == {"col", "row"}
    assert all(cell.get("data-label") for cell in page.all("td") if "colspan" not in cell)


def test_what_is_referred_to_by_an_id_is_there_once(page: Page) -> None:
    ids = Counter(attributes["id"] for _, attributes in page.tags if "id" in attributes)
    assert set(ids.values()) == {1}
    named = {attributes["aria-labelledby"] for _, attributes in page.tags if "aria-labelledby" in attributes}
    links = {link["href"][1:] for link in page.all("a") if link["href"].startswith("#")}
    assert named | links <= set(ids)


def test_the_language_the_title_and_the_way_to_the_content_are_there(page: Page) -> None:
    (html,) = page.all("html")
    assert html["lang"] == "en"
    assert len(page.all("title")) == len(page.all("main")) == 1
    assert "#main" in {link["href"] for link in page.all("a")}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_on_what_is_behind_it(theme: str) -> None:
    colours = palette(theme)
    for ink, paper in TEXT_ON_PAPER + TEXT_ELSEWHERE:
        assert contrast(colours[ink], colours[paper]) >= READABLE, (ink, paper)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def palette(theme: str) -> dict[str, str]:
    """The colours by name: the style sheet declares the dark ones first."""
    dark, _, light = STYLE.read_text(encoding="utf-8").partition("{% endset %}")
    block = dark if theme == "dark" else light.partition("}")[0]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6});", block))


def contrast(one: str, other: str) -> float:
    """WCAG 2's ratio, 1 to 21."""
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    levels = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = [level / 12.92 if level <= 0.04045 else ((level + 0.055) / 1.055) ** 2.4 for level in levels]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
