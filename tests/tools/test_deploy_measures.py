"""What a deploy measures for its report: the error of each module, and the latency of both sides."""

import json
from collections.abc import Callable, Sequence

import pytest

from pipeline.proof import module_errors
from tests.tools.tiny import Run, Tiny
from zoo.errors import ExportError

Deploy = Callable[[Sequence[str]], Run]


def test_modules_and_latency_are_recorded_and_shown(deployed: tuple[Tiny, Run]) -> None:
    tiny, _ = deployed
    record = json.loads((tiny.place / "parity.json").read_text(encoding="utf-8"))
    modules, latency = record["modules"], record["latency"]
    assert modules["verdict"] == "one.png: no module is past 0.0001; 1 pairs of tensors compared."
    (row,) = modules["rows"]
    assert (row["module"], row["verdict"]) == ("conv", "equal")
    assert row["relative"] <= modules["threshold"]
    assert [side["name"] for side in latency] == ["PyTorch, cpu", "onnxruntime, cpu"]
    for side in latency:
        assert 0 < side["p50"] <= side["p90"] <= side["p99"]
        assert 2 <= side["rounds"] <= 30
    page = (tiny.place / "report.html").read_text(encoding="utf-8")
    assert modules["verdict"] in page
    assert 'id="latency"' in page


@pytest.mark.usefixtures("no_plots")
def test_what_cannot_be_aligned_is_deployed_all_the_same(
    deploy: Deploy,
    tiny: Tiny,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ExportError("no room")

    monkeypatch.setattr(module_errors, "align_subject", refuse)
    assert deploy(tiny.with_images()).code == 0
    modules = json.loads((tiny.place / "parity.json").read_text(encoding="utf-8"))["modules"]
    assert modules == {
        "verdict": "The tensors between modules were not compared: ExportError: no room",
        "rows": [],
        "threshold": 0.0,
        "notes": [],
    }
    assert "were not compared: ExportError: no room" in (tiny.place / "report.html").read_text(encoding="utf-8")
