"""A deploy refuses the shipped Faster R-CNN with a fault in one constant of its file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import pipeline
from pipeline.job.deploy_target import deploy_target
from pipeline.parity.errors import ParityMissedError
from pipeline.stages import exported
from tests.pipeline.parity.constants.faults import Fault, attribute, read, stored
from zoo.config import load_config

ROOT = Path(__file__).parents[4]
CONFIG = ROOT / "configs" / "detection" / "faster-rcnn_r18-fpn_digits.py"
POOL = "roi_heads.box_roi_pool"


def _moved(anchors: np.ndarray) -> np.ndarray:
    anchors[-60:] += 2.0  # of 4 x 5 places, three each
    return anchors


FAULTS: dict[str, tuple[Fault, str]] = {
    "RoIAlign": (attribute(POOL, "RoiAlign", 1, coordinate_transformation_mode="half_pixel"), "RoIAlign of level 1"),
    "anchors": (stored(4, _moved), "anchors .rpn.: .* off by up to 2 .level 4: 60 of 60."),
    "NMS": (read("roi_heads", "NonMaxSuppression", 3, 0.5, 0.505), "NMS threshold .* 0.5, the graph 0.505"),
    "levels": (read(POOL, "Div", 1, 224.0, 200.0), "canonical scale of the RoI levels"),
    "score": (read("roi_heads", "Greater", 1, 0.05, 0.055), "score threshold .* 0.05, the graph 0.055"),
}


def planted(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    real: Callable[..., Any] = exported.export_step

    def faulty(job: Any, model: Any, reference: Any, folder: Path, *rest: Any) -> Any:
        record = real(job, model, reference, folder, *rest)
        graph = onnx.load(folder / "model.onnx")
        fault(graph)
        onnx.save(graph, folder / "model.onnx")
        return record

    monkeypatch.setattr(exported, "export_step", faulty)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_no_image_shows_is_refused(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, words = FAULTS[fault]
    planted(monkeypatch, plant)
    target = deploy_target(load_config(CONFIG), exporter="torchscript")
    with pytest.raises(ParityMissedError, match=words):
        pipeline.deploy(CONFIG, target, work_dir=tmp_path)
