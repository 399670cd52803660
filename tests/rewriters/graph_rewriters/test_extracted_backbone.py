"""The backbone of a shipped detector, cut out of its file, gives what PyTorch's gives."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
import torch

from rewriters import export_onnx
from rewriters.graph_rewriters import rewrite_graph
from tests.rewriters.graph_rewriters.graphs import run
from tests.rewriters.small_models import detection_specs, fixed_target
from zoo import build_model
from zoo.config import load_config
from zoo.families import contract_module
from zoo.preprocess import Preprocess
from zoo.target import AxisRange

ROOT = Path(__file__).parents[3]
HEIGHT, WIDTH = 256, 320


def sample_images(preprocess: Preprocess, count: int) -> torch.Tensor:
    images = torch.empty(count, 3, HEIGHT, WIDTH)
    for image, path in zip(images, sorted((ROOT / "zoo/data/digits/val/images").glob("*.jpg")), strict=False):
        preprocess.run(cv2.imread(str(path)), image.numpy())
    return images


def of_faster_rcnn(model: Any, images: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """What goes into the backbone, and what comes out."""
    features = model.transform(list(images))[0].tensors
    return features, list(model.backbone(features).values())


def of_yolov5(model: Any, images: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The layers before the neck are read at three places: p3, p4 and the last."""
    taken = [layer(images) for layer in (model.model[:5], model.model[:7], model.model[:10])]
    return images, taken


MODELS = {
    "faster-rcnn_r18-fpn_digits": ("backbone", of_faster_rcnn),
    "yolov5n_digits": ("model.[0-9]", of_yolov5),
}


@pytest.mark.slow
@pytest.mark.parametrize("batch", [AxisRange.fixed(2), AxisRange(1, 2, 8)], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
@pytest.mark.parametrize("name", MODELS)
def test_the_module_backbone(name: str, exporter: str, batch: AxisRange, tmp_path: Path) -> None:
    module, run_in_pytorch = MODELS[name]
    config = load_config(ROOT / f"configs/detection/{name}.py")
    model: Any = build_model(config)
    preprocess = config.preprocess
    export_onnx(
        contract_module(model, config.task, "final", {}),
        fixed_target(HEIGHT, WIDTH, exporter=exporter, batch=batch),
        tmp_path / "m.onnx",
        example={"images": sample_images(preprocess, 2)},
        output_specs=detection_specs(100, "batch" if batch.dynamic else 2),
    )
    piece, _ = rewrite_graph(onnx.load(tmp_path / "m.onnx"), [{"name": "extract_submodel", "module": module}])
    (given,) = piece.graph.input
    for count in (1, 2, 3) if batch.dynamic else (2,):
        with torch.no_grad():
            features, levels = run_in_pytorch(model, sample_images(preprocess, count))
        expected = {tuple(level.shape): level.numpy() for level in levels}
        found = run(piece, {given.name: features.numpy()})
        assert len(found) == len(expected)
        for level in found.values():
            want = expected[level.shape]
            np.testing.assert_allclose(level, want, rtol=0, atol=1e-5 * np.ptp(want))
