"""The graph with image_sizes for tensorrt-rtx: its numbers in ONNX Runtime, and an engine of it."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch

from rewriters import export_onnx
from tests.examples import slow_but
from tests.rewriters.ops.exported import NOT_FOR_TENSORRT, operators
from tests.rewriters.small_families import contract_of, outputs, same_findings, sample_images, small, specs_of
from tests.rewriters.small_models import fixed_target
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine


@pytest.fixture(scope="module", params=slow_but(("faster_rcnn", "retina_net", "ssd"), "faster_rcnn"))
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    family, path = request.param, tmp_path_factory.mktemp(request.param) / "model.onnx"
    export_onnx(
        contract_of(small(family), family),
        fixed_target(128, 128, image_sizes=True, exporter="torchscript", backend="tensorrt-rtx"),
        path,
        example={"images": sample_images(2, 128, 128, seed=1), "image_sizes": torch.tensor([[128, 128], [64, 96]])},
        output_specs=specs_of(family),
    )
    return family, path


@pytest.mark.slow
def test_the_same_graph_in_onnxruntime_equals_the_unpatched_model(exported: tuple[str, Path]) -> None:
    family, path = exported
    model, images, sizes = (
        small(family),
        sample_images(3, 128, 128, seed=5),
        torch.tensor([[128, 90], [1, 96], [60, 128]]),
    )
    expected = outputs(contract_of(model, family), images, sizes)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, {"images": images.numpy(), "image_sizes": sizes.numpy()})
    assert same_findings(family, model, expected, found) > 10
    assert not set(operators(onnx.load(path).graph)) & NOT_FOR_TENSORRT


@needs_rtx
@pytest.mark.tensorrt
def test_an_engine_is_built_for_every_batch(exported: tuple[str, Path]) -> None:
    rtx_engine(exported[1], 1, 2, 8)
