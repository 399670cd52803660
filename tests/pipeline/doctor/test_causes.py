"""Every known cause is shown by a model, and is on the page."""

import re
from pathlib import Path

from pipeline.doctor.causes import CAUSES, UNKNOWN, cause_of_message
from tests.pipeline.doctor.test_examining import DYNAMO, TORCHSCRIPT

PAGE = Path(__file__).parents[3] / "docs" / "export_doctor.md"
ELSEWHERE = {
    *("grid-sample-5d", "scattered-parts", "local-paths"),  # tests of their own in test_examining.py
    *("crash", "no-end"),  # in tests/tools/test_check_export.py
    "no-second-process",  # in test_processes.py
}


def test_every_cause_has_a_model() -> None:
    shown = {row[1] for row in (*TORCHSCRIPT, *DYNAMO) if row[1]}
    assert {cause.name for cause in CAUSES} == shown | ELSEWHERE
    assert not shown & ELSEWHERE


def test_every_cause_is_on_the_page() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert sorted(named) == sorted(cause.name for cause in CAUSES)


def test_a_grid_of_images_is_no_grid_of_volumes() -> None:
    volumes = "OnnxExporterError: Unsupported: ONNX export of operator GridSample with 5D volumetric input."
    assert cause_of_message(volumes, "torchscript").name == "grid-sample-5d"
    assert cause_of_message("ExportError: no translation of aten::grid_sampler", "dynamo").name != "grid-sample-5d"


def test_words_of_no_known_cause() -> None:
    assert cause_of_message("KeyError: a thing of the model's own", "dynamo") is UNKNOWN
