"""Translated configs of mmsegmentation, by both exporters: as the unpatched models, at several batches and sizes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.examples import slow_but
from tests.exporters import DYNAMO_LATER
from tests.rewriters.segmentor_graphs import assert_logits, calibrated, export_logits, target_of
from tests.translated_segmentors import BY_THE_SIZE, OF_ONE_SIZE, TRANSLATED, in_use, translated
from zoo.errors import ExportError
from zoo.models.residual_blocks import Bottleneck

EXPORTERS = ("torchscript", "dynamo")
SIZES = {"fixed": [(64, 96)], "dynamic": [(64, 96), (96, 64), (128, 160)]}
ON_EVERY_COMMIT = ("cc",)
CELLS = [
    pytest.param(name, exporter, marks=() if quick else pytest.mark.slow)
    for name in TRANSLATED
    for exporter in EXPORTERS
    for quick in [exporter == "torchscript" and name in ON_EVERY_COMMIT]
]


def segmentor(name: str, **changes: Any) -> Any:
    """Calibrated, all of it in use.

    By images of many places: by 64 x 96 pixels, eager ISANet itself was 1.5e-4 of the range from float64, as measured.
    Residual branches of a ResNet-50 are weak, as in trained networks: at full weight, the eager one of "multi-grid" was
    7e-5 from float64.
    """
    torch.manual_seed(0)
    model = in_use(translated(name, **changes))
    for block in model.modules():
        if isinstance(block, Bottleneck):
            nn.init.constant_(block.bn3.weight, 0.2)
    return calibrated(model, *SIZES["fixed"][0]) if name in OF_ONE_SIZE else calibrated(model)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("name", BY_THE_SIZE)
def test_a_dynamic_size_is_refused_where_the_model_depends_on_it(name: str, exporter: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="PSANet's head needs a fixed height and width, and the target has a dynamic"):
        export_logits(translated(name), target_of("dynamic", exporter), tmp_path / "m.onnx")


@pytest.mark.parametrize("name", slow_but(["swin-uper", "pcpvt-uper", "svt-uper"], "pcpvt-uper"))
def test_cells_of_a_map_whose_size_the_trace_does_not_know(name: str, tmp_path: Path) -> None:
    """By torchscript; what these backbones permute has a size in Python, and none in the traced graph."""
    model, path = segmentor(name), tmp_path / "m.onnx"
    export_logits(model, target_of("fixed", "torchscript"), path)
    assert_logits(model, path, [(count, SIZES["fixed"][0]) for count in (1, 3)])


@pytest.mark.parametrize(("name", "exporter"), CELLS)
def test_logits(name: str, exporter: str, tmp_path: Path) -> None:
    model, path = segmentor(name), tmp_path / "m.onnx"
    sizes = "fixed" if name in BY_THE_SIZE else "dynamic"
    export_logits(model, target_of(sizes, exporter), path)
    assert_logits(model, path, [(count, size) for size in SIZES[sizes] for count in (1, 3)])
