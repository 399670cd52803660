"""The kinds of pages, made by hand in a moment."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np

from backends.benchmark.cold_start import ColdStart
from backends.benchmark.interval import Interval
from backends.benchmark.rows import FASTER, UNCLEAR, Row, Stability
from backends.benchmark.run import Benchmark
from pipeline.proof.preview import Panel
from pipeline.report.benchmark_page import write_benchmark
from pipeline.report.compared import Compared, Group
from pipeline.report.compared_rows import Row as ComparedRow
from pipeline.report.deployment_page import write_report
from pipeline.report.embedded import data_uri, embedded_images
from pipeline.report.formatting import format_milliseconds
from pipeline.report.page import render
from tests.pipeline.report.made import made_data
from zoo.input_kinds import input_kind
from zoo.processor import Processor

NAMES = ("beta", "alpha", "gamma")
GREY = np.full((60, 90, 3), 90, np.uint8)
LONG = "a/folder/below/a/folder/with-a-name-that-does-not-end/" * 3


def zoo_row(number: int) -> dict[str, Any]:
    """One of three deployments; the last was not measured."""
    words = {"task": "detection", "backend": "onnxruntime", "precision": "fp32", "exporter": "dynamo", "opset": 20}
    verdict = {"level": "final", "kind": "good", "words": "Parity passed", "unit": None, "metric": None}
    figures = {"graph": (0.02, 0.1, None)[number], "pipeline": 0.5, "bytes": (9, 100, 20)[number], "size": "some"}
    about = {"name": NAMES[number], "link": f"{number}/report.html", "torch": "2.15.0", "folder": f"{LONG}{number}"}
    latency = ({"backend": 6.5, "reference": 1234.5, "batch": 2}, {"backend": 12.0, "reference": 1.0, "batch": 1}, None)
    measured = {"latency": latency[number], "deployed": ("2026-11-23T03:37:02+00:00", None, None)[number]}
    return words | verdict | figures | about | measured | {"thumbnail": (data_uri(GREY), None, None)[number]}


def zoo_page(folder: Path) -> Path:
    """Three deployments, and one that cannot be read."""
    rows = [zoo_row(number) for number in range(3)]
    page = render(
        "zoo.html.jinja",
        plots=False,
        folder="here",
        rows=rows,
        counts=[("good", "Parity passed", 2), ("bad", "Parity missed", 1)],
        faults=["x: broken"],
        milliseconds=format_milliseconds,
    )
    return _written(folder / "zoo.html", page)


def comparison_page(folder: Path) -> Path:
    """Two deployments with a group that differs in one of two rows, one that does not, and one that varies."""
    groups = (
        Group(
            "What they are", (ComparedRow("backend", "onnxruntime", "onnxruntime"), ComparedRow("opset", "18", "20"))
        ),
        Group("Versions", (ComparedRow("torch", "2.15.0", "2.15.0"),)),
        Group("Measured again in each run", (ComparedRow("export", "1.2 s", "1.4 s", "+16.7%"),), varies=True),
    )
    image = cv2.circle(GREY.copy(), (20, 20), 9, (0, 0, 255))
    panels = [
        Panel("A", image, "what it found"),
        Panel("B", image, "what it found"),
        Panel("difference", None, "equal"),
    ]
    side = SimpleNamespace(folder=LONG, manifest=SimpleNamespace(name="made", task="detection"))
    page = render(
        "comparison.html.jinja",
        plots=False,
        sides=(side, side),
        compared=Compared(("Parity of both: passed.",), groups),
        previews=embedded_images([(f"{number}.png", panels) for number in range(5)]),
        more_previews=0,
    )
    return _written(folder / "both.html", page)


def report_page(folder: Path) -> Path:
    """Of a detector."""
    return write_report(folder, made_data(folder))


def _written(path: Path, page: str) -> Path:
    path.write_text(page, encoding="utf-8")
    return path


def benchmark_page(folder: Path) -> Path:
    """Three rows, the second twice as quick as the first, the third no different."""
    rows = [
        Row(
            number=number,
            subject=LONG,
            threads=None,
            batch=number,
            workers=None if number == 1 else 2,
            p50=12.5 * number,
            p90=15.0 * number,
            p99=1234.5,
            images_per_second=80.0,
            shares={"preprocessing": 0.1, "computing": 0.85, "postprocessing": 0.05},
            cold=ColdStart(1.5, 0.5, 100 * 2**20),
            compared_with=None if number == 1 else 1,
            ratio=None if ratio is None else Interval(ratio - 0.01, ratio, ratio + 0.01),
            verdict=verdict,
        )
        for number, ratio, verdict in ((1, None, ""), (2, 0.5, FASTER), (3, 1.0, UNCLEAR))
    ]
    machine = Processor("a processor", "x86_64", ("AVX2",))
    path = folder / "benchmark.html"
    stability = Stability(Interval(0.99, 1.0, 1.01))
    write_benchmark(Benchmark(rows, stability, 30, 3, input_kind("image"), [(480, 640)], machine), path)
    return path


PAGES = {"report": report_page, "zoo": zoo_page, "comparison": comparison_page, "benchmark": benchmark_page}
PLOTTED = ("report", "benchmark")
"""Those with plots."""
