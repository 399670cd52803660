"""Every head of mmdetection that has a rewriter, exported: what mmdetection itself finds, at every batch."""

import functools
from pathlib import Path

import pytest

from tests.rewriters.mmdetection.exported import AXES, Exported, check
from tests.small_mmdet import SECTIONS, WITH_MASKS, WITH_WHOLE_MASKS, byte_images, small
from zoo.target import Target

pytestmark = [
    pytest.mark.openmmlab,
    pytest.mark.filterwarnings("ignore"),  # mmdetection's own, of every kind
]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

NAMES = (*SECTIONS, *WITH_MASKS, *WITH_WHOLE_MASKS)
CASES = (
    *((name, "torchscript") for name in NAMES),
    *(pytest.param(name, "dynamo", marks=pytest.mark.slow) for name in NAMES),
)

detector = functools.cache(small)


@pytest.mark.parametrize(("name", "exporter"), CASES)
def test_the_graph_finds_what_mmdetection_finds(name: str, exporter: str, tmp_path: Path) -> None:
    exported = Exported.of(name, detector(name), Target(AXES, exporter=exporter), tmp_path / "model.onnx")
    for count, first in ((1, 3), (3, 0)):
        check(exported.compared(byte_images(count, first), least=3))


def test_proposals_of_all_levels_suppress_each_other_where_the_config_says_so(tmp_path: Path) -> None:
    model = small("faster_rcnn")
    model.model.rpn_head.test_cfg.nms.update(class_agnostic=True, iou_threshold=0.3)
    exported = Exported.of("faster_rcnn", model, Target(AXES, exporter="torchscript"), tmp_path / "model.onnx")
    check(exported.compared(byte_images(3), least=3))
