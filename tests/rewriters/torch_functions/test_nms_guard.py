"""A trace that meets no boxes is an error that says so, at whatever place the early return stands."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torchvision.ops import batched_nms, nms  # copies: `from x import f`

from rewriters import export_onnx
from tests.rewriters.small_models import fixed_target, without_rewriter
from zoo.errors import ExportError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

TARGET = fixed_target(32, 32, exporter="torchscript", batch=AxisRange.fixed(1))
SPECS = [TensorSpec("boxes", "float32", ("n", 4))]


class Detector(nn.Module):
    """Bright pixels of row 0 are boxes. `early`: returns zeros without boxes, before NMS; `late`: after NMS."""

    def __init__(self, *, early: bool = False, late: bool = False, batched: bool = False) -> None:
        super().__init__()
        self.early = early
        self.late = late
        self.batched = batched

    def forward(self, images: Tensor) -> Tensor:
        left = (images[0, 0, 0] > 0.5).nonzero()[:, 0].float()
        boxes = torch.stack([left, left, left + 10, left + 10], dim=1)
        if self.early and boxes.numel() == 0:
            return torch.zeros(0, 4)
        keep = batched_nms(boxes, left, torch.zeros_like(left), 0.5) if self.batched else nms(boxes, left, 0.5)
        if self.late and keep.numel() == 0:
            return boxes[:0]
        return boxes[keep]


def export(module: nn.Module, images: Tensor, path: Path) -> None:
    export_onnx(module.eval(), TARGET, path, example={"images": images}, output_specs=SPECS)


@pytest.mark.parametrize("batched", [True, False])
def test_nms_without_boxes_is_an_error(batched: bool, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="got no boxes while the model was traced.*real image.*lower score threshold"):
        export(Detector(batched=batched), torch.zeros(1, 3, 32, 32), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_an_early_return_before_nms_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="early return.*real image that has objects"):
        export(Detector(early=True), torch.zeros(1, 3, 32, 32), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("batched", [True, False])
def test_with_boxes_the_export_goes_through(batched: bool, tmp_path: Path) -> None:
    export(Detector(early=True, late=True, batched=batched), torch.rand(1, 3, 32, 32), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").is_file()


@pytest.mark.parametrize("batched", [True, False])
def test_needed_without_it_a_late_return_is_frozen(batched: bool, tmp_path: Path) -> None:
    """Rule 6. Seen with torch 2.15: the file passes every check, and finds nothing in an image full of boxes."""
    import onnxruntime as ort

    with without_rewriter("torchvision.ops.boxes.batched_nms"), without_rewriter("torchvision.ops.boxes.nms"):
        export(Detector(late=True, batched=batched), torch.zeros(1, 3, 32, 32), tmp_path / "m.onnx")
    (boxes,) = ort.InferenceSession(tmp_path / "m.onnx").run(None, {"images": torch.ones(1, 3, 32, 32).numpy()})
    assert len(boxes) == 0
