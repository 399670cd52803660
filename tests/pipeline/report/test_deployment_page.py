"""report.html: the verdict in words, a section for all that there is, and nothing from outside in the markup."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from backends.backend import Built
from pipeline.parity.records import MetricFigure
from pipeline.preflight import Finding, FoundNode, all_rows
from pipeline.proof.preview import Panel
from pipeline.report.deployment_page import ReportData, write_report
from pipeline.report.plots import operator_plot
from tests.pipeline.report.made import LARGE, NASTY, made_data, missed
from tests.pipeline.report.parsed import Page
from zoo.cards import read_card

pytest.importorskip("bokeh", reason="plots are Bokeh's")
ORDER = ["images", "card", "parity", "scatter", "modules", "latency", "export", "graph", "files"]


def page_of(folder: Path, data: ReportData) -> Page:
    return Page(write_report(folder, data).read_text(encoding="utf-8"))


@pytest.fixture
def data(tmp_path: Path) -> ReportData:
    return made_data(tmp_path)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report of all that there is."""
    folder = tmp_path_factory.mktemp("report")
    return write_report(folder, made_data(folder)).read_text(encoding="utf-8")


@pytest.fixture
def page(text: str) -> Page:
    return Page(text)


@pytest.mark.slow
def test_four_large_images_of_noise_stay_under_three_megabytes(tmp_path: Path) -> None:
    path = write_report(tmp_path, made_data(tmp_path, LARGE))
    assert path == tmp_path / "report.html"
    assert path.stat().st_size < 3_000_000


def test_all_sections_in_order_and_nothing_from_elsewhere(page: Page) -> None:
    sections = [attributes["id"] for attributes in page.all("section") if "id" in attributes]
    assert sections == [name for name in ORDER if name != "card"]
    links = [attributes["href"] for attributes in page.all("a")]
    assert set(links) == {"#main", *(f"#{name}" for name in sections)}
    assert all(image["src"].startswith("data:image/webp;base64,") for image in page.all("img"))
    assert not [attributes for tag in ("link", "iframe") for attributes in page.all(tag)]
    assert not [attributes for attributes in page.all("script") if "src" in attributes]
    (policy,) = (meta for meta in page.all("meta") if "http-equiv" in meta)
    assert policy["content"].startswith("default-src 'none'; img-src data:;")


def test_images_and_tables_are_there_for_those_who_do_not_see(page: Page) -> None:
    texts = [image["alt"] for image in page.all("img")]
    assert len(texts) == len(set(texts)) == 12
    assert texts[0] == "0.jpg, PyTorch: 0 objects"
    assert len(page.all("caption")) == len(page.all("table"))
    assert {head.get("scope") for head in page.all("th")} == {"col", "row"}
    sliders = [attributes["aria-label"] for attributes in page.all("input") if attributes["type"] == "range"]
    assert [words.partition(":")[0] for words in sliders] == [f"{number}.jpg" for number in range(4)]


def test_what_is_not_there_has_no_section(data: ReportData, tmp_path: Path) -> None:
    page = page_of(tmp_path, replace(data, previews=(), scatter=None, modules=None, latency=()))
    sections = [attributes["id"] for attributes in page.all("section") if "id" in attributes]
    assert sections == ["parity", "export", "graph", "files"]
    assert {link["href"] for link in page.all("a")} == {"#main", "#parity", "#export", "#graph", "#files"}


def test_the_images_follow_the_verdict(page: Page) -> None:
    sections = page.all("section")
    assert ["verdict" in section.get("class", "") for section in sections].index(True) == 0
    assert sections[1]["id"] == "images"


def test_no_difference_is_said_and_not_drawn(data: ReportData, tmp_path: Path) -> None:
    first, *others = data.previews
    equal = replace(first, panels=(*first.panels[:2], Panel("difference", None, "all pixels are equal")))
    page = page_of(tmp_path, replace(data, previews=[equal, *others]))
    assert len(page.all("img")) == 11
    assert page.text.count("No difference") == 1
    assert "difference: none, all pixels are equal" in page.text


def test_the_plot_has_the_most_frequent_operators_and_the_table_all(page: Page) -> None:
    counts = {f"Operator{number:02}": 40 - number for number in range(30)}
    item = str(operator_plot(counts))
    assert "Operator11" in item
    assert "Operator12" not in item
    assert "Show all 3 operators, as a table" in page.text


def test_names_from_outside_are_text(text: str) -> None:
    assert "<script>alert" not in text
    assert NASTY in Page(text).text


def test_a_passed_verdict(page: Page) -> None:
    text = page.text
    assert "Parity passed" in text
    assert "gives what the unpatched PyTorch model gives" in text
    assert "Parity missed" not in text


def test_a_missed_verdict_with_its_reasons(data: ReportData, tmp_path: Path) -> None:
    page = page_of(tmp_path, missed(data))
    assert "Parity missed" in page.text
    assert "NOT the same model" in page.text
    assert "graph parity, a.jpg, " in page.text
    assert "Parity passed" not in page.text
    assert ["bad" in section["class"] for section in page.all("section") if "class" in section] == [True]


def test_an_engine_that_has_not_run_is_no_pass(data: ReportData, tmp_path: Path) -> None:
    record = replace(data.record, by_engine=False, notes=("No engine has run: there is no GPU.",))
    page = page_of(tmp_path, replace(data, record=record))
    assert "No engine has run" in page.text
    assert "Of what the engine itself computes nothing is known" in page.text
    assert "there is no GPU" in page.text
    assert "Parity passed" not in page.text
    assert ["open" in section["class"] for section in page.all("section") if "class" in section] == [True]


def test_what_is_not_standard_is_named(page: Page) -> None:
    text = page.text
    assert "acme::Twist, 1 times: a runtime needs a plugin or a kernel for it" in text
    assert "4 nodes of 3 kinds" in text


def test_precision_engine_metric_and_preflight(data: ReportData, tmp_path: Path) -> None:
    counts = {"stored": {"float16": 61, "float32": 7}, "computed": {"float16": 59}}
    kept: Any = SimpleNamespace(kept=(("head", "overflows"),), notes=("a note of the casting",))
    engine = Built(
        "tensorrt-rtx 1.4.0 on a GPU, 2.0 MiB",
        3.0,
        {"float16": 59},
        ({"images": ((1, 3, 64, 96), (2, 3, 64, 96), (4, 3, 64, 96))},),
    )
    row = next(row for row in all_rows() if row.rewriter)
    finding = Finding(row, (FoundNode("cast", "Cast", "head"),), "tensorrt-rtx")
    metric = MetricFigure("mIoU", "points", 512, 75.0, 74.9, 0.3)
    page = page_of(
        tmp_path,
        replace(
            data,
            manifest=replace(data.manifest, precision={"stored": "fp16", "computed": "fp16", "nodes": counts}),
            export=replace(data.export, precision=kept),
            record=replace(data.record, metric=(metric,)),
            engine=engine,
            findings=[finding],
        ),
    )
    sections = [attributes["id"] for attributes in page.all("section") if "id" in attributes]
    assert [name for name in sections if name in {"metric", "precision", "engine"}] == ["metric", "precision", "engine"]
    for words in (
        "as good as the unpatched PyTorch model, within the metric's gate",
        metric.sentence("images"),
        "overflows",
        "a note of the casting",
        "tensorrt-rtx 1.4.0 on a GPU, 2.0 MiB, built in 3.0 s",
        "4 x 3 x 64 x 96",
        f"rewrite: {finding}",
    ):
        assert words in page.text


def test_a_card_with_its_figures(data: ReportData, tmp_path: Path) -> None:
    card = read_card("configs/detection/retinanet_r18-fpn_digits.py")
    page = page_of(tmp_path, replace(data, card=card))
    assert [attributes["id"] for attributes in page.all("section") if "id" in attributes] == ORDER
    assert card.what in page.text
    assert "box AP (main)" in page.text
