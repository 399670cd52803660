"""report.md and report.html: every cell, every reason, links that lead somewhere, and nothing that breaks the page."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from pipeline.regression import Regression
from tests.pipeline.regression.world import World

NASTY = "<script>alert(1)</script> & a | b *c* `d`"


class Page(HTMLParser):
    """The texts of a page's table cells, its links and ids; complains of tags that are not closed."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        fields = {name: value or "" for name, value in attrs}
        self.links += [fields["href"]] if "href" in fields else []
        self.ids += [fields["id"]] if "id" in fields else []
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += " ".join(data.split()) + " "


@pytest.fixture
def found(world: World) -> Regression:
    """Two models by two exporters: three cells that are not green."""
    world.config("good_one")
    world.config("nasty", deploy=f"error 5 {NASTY}")
    world.write(
        exporters=["dynamo", "torchscript"],
        limit=4,
        exclude=[{"model": "good_one", "exporter": "torchscript", "reason": "known | for long"}],
    )
    return world.run()


def read(found: Regression, name: str) -> str:
    return (found.work_dir / name).read_text(encoding="utf-8")


def test_html(found: Regression) -> None:
    text = read(found, "report.html")
    page = Page(text)
    head, good, nasty = page.rows[:3]
    assert [words.strip() for words in head] == ["model", "onnxruntime fp32 dynamo", "onnxruntime fp32 torchscript"]
    assert good[0].strip() == "good_one"
    assert re.fullmatch(
        r" *passed +box_AP 60\.02 \(\+0\.020 points\) +deployed in [\d.]+ s +deploy\.log · evaluate\.log · report *",
        good[1],
    ), good[1]
    assert [words.strip() for words in (good[2], nasty[1])] == ["excluded", "export refused"]
    assert "1 of 4 cells passed; 2 export refused, 1 excluded" in text
    assert "the first 4 inputs of the data set" in text
    assert "script" not in page.tags
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; a | b *c* `d`") == 2
    assert "known | for long" in text
    assert found.machine in text
    assert {"python", "numpy", "torch", "pycocotools"} <= set(found.versions)
    assert "http" not in "".join(page.links)


def test_links_of_html_lead_somewhere(found: Regression) -> None:
    page = Page(read(found, "report.html"))
    inside = [unquote(link[1:]) for link in page.links if link.startswith("#")]
    files = [unquote(link) for link in page.links if not link.startswith("#")]
    assert len(inside) == 3
    assert set(inside) <= set(page.ids)
    good, nasty = (f"cells/{name}-onnxruntime-fp32-dynamo" for name in ("good_one", "nasty"))
    wanted = [f"{good}/{name}" for name in ("deploy.log", "evaluate.log", "place/report.html")]
    assert files == [*wanted, f"{nasty}/deploy.log", f"{nasty.replace('dynamo', 'torchscript')}/deploy.log"]
    assert all((found.work_dir / link).is_file() for link in files)


def test_markdown(found: Regression) -> None:
    text = read(found, "report.md")
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    assert [cell.strip() for cell in rows[0]] == ["model", "onnxruntime fp32 dynamo", "onnxruntime fp32 torchscript"]
    assert {len(row) for row in rows[:4]} == {3}
    assert rows[2][0].strip() == r"good\_one"
    assert re.fullmatch(
        r" passed<br>box\\_AP 60\.02 \(\+0\.020 points\)<br>deployed in [\d.]+ s<br>\[.*\) ", rows[2][1]
    )
    assert rows[3][1] == " **export refused** "
    assert "<script>" not in text
    assert r"&lt;script>alert(1)&lt;/script> &amp; a \| b \*c\* \`d\`" in text
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) == 5
    assert all(Path(found.work_dir, unquote(link)).is_file() for link in links)


def test_nothing_to_explain_where_all_is_green(world: World) -> None:
    world.config("a b")
    world.write()
    found = world.run()
    for name in ("report.md", "report.html"):
        assert "1 of 1 cells passed" in read(found, name)
        assert "Not green" not in read(found, name)


def test_two_models_of_one_name_are_distinguished(world: World) -> None:
    for folder in ("left", "right"):
        (world.folder / folder).mkdir()
        world.config(f"{folder}/model", deploy=f"error 5 {folder}")
    world.write(models=[str(world.folder / "*" / "model.py")])
    found = world.run()
    page = Page(read(found, "report.html"))
    assert [row[0].strip() for row in page.rows[1:3]] == ["left/model", "right/model"]
    for cell, result in found.cells:
        assert result.reason == cell.model.partition("/")[0]
        assert (found.work_dir / result.logs[0]).is_file()
