"""Positions of vision transformers that take images of any size, traced at the size of their training."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.rewriters.segmentor_graphs import opened
from tests.rewriters.small_models import export, fixed_target, without_rewriter
from tests.rewriters.small_segmentors import sample_images
from zoo.errors import ExportError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

transformers = pytest.importorskip("transformers", reason="needs the extra transformers")
pytestmark = pytest.mark.libraries

KINDS = ("Dinov2", "Dinov2WithRegisters")
OWN = 56
TARGET = fixed_target(OWN, OWN, exporter="dynamo").with_(height=AxisRange(56, OWN, 280), width=AxisRange(56, OWN, 280))


class Mean(nn.Module):
    """images float32 [N, 3, H, W] -> {"mean": float32 [N, C]} of the embeddings of patches, which have positions."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        sizes = {
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": OWN,
            "patch_size": 14,
        }
        torch.manual_seed(0)
        settings = getattr(transformers, f"{kind}Config")(**sizes, initializer_range=0.5)
        self.embeddings = getattr(transformers, f"{kind}Model")(settings).embeddings.eval()

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        return {"mean": (self.embeddings(images) ** 2).mean(1)}


def export_mean(kind: str, path: Path) -> Any:
    module = Mean(kind).eval()
    record = export(module, TARGET, path, [TensorSpec("mean", "float32", ("batch", 32))], other_sizes=False)
    return module, [fired.name for fired in record.rewriters]


@pytest.mark.parametrize("kind", KINDS)
def test_every_size(kind: str, tmp_path: Path) -> None:
    module, fired = export_mean(kind, tmp_path / "m.onnx")
    assert f"transformers.{kind}Embeddings.interpolate_pos_encoding" in fired
    with opened(tmp_path / "m.onnx", "onnxruntime") as runner:
        for count, size in ((1, (56, 56)), (2, (56, 84)), (1, (112, 56)), (1, (70, 126))):
            images = sample_images(count, *size, seed=sum(size))
            with torch.no_grad():
                expected = module(images)["mean"].numpy()
            np.testing.assert_allclose(runner.run({"images": images.numpy()})["mean"], expected, rtol=1e-4, atol=1e-5)


def test_needed_without_it_the_graph_takes_no_other_size(tmp_path: Path) -> None:
    import_module("rewriters.transformers")  # which an export would import, too late
    with without_rewriter("transformers.Dinov2Embeddings.interpolate_pos_encoding"):
        export_mean("Dinov2", tmp_path / "m.onnx")
    with opened(tmp_path / "m.onnx", "onnxruntime") as runner, pytest.raises(ExportError, match="stopped at inputs"):
        runner.run({"images": sample_images(1, 56, 84).numpy()})
