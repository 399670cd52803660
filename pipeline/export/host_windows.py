"""Slide inference on the host: the export of one window's model, for a deployment that takes whole images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from backends.slide_runner import LOGITS
from pipeline.export.graph_step import rewritten
from pipeline.export.precision_step import at_precision
from pipeline.job.job import Job
from pipeline.precision.calibration import Calibration
from rewriters import ExportRecord, export_onnx
from zoo.contract import Contract
from zoo.errors import InputError
from zoo.families import Sliding, family_of, first_step
from zoo.input_specs import IMAGES
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec
from zoo.windows import WINDOW_BATCH, Windows

Feeds = Sequence[dict[str, NDArray[Any]]]


class WindowModel(Contract):
    """images float32 [N, 3, h, w], windows -> their logits [N, C, h, w]."""

    def __init__(self, model: nn.Module, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.logits = sliding_of(model).logits

    def forward(self, images: Tensor) -> tuple[Tensor]:
        """One pass over each window."""
        return (self.logits(images),)


def window_model(job: Job, model: nn.Module) -> WindowModel:
    """The model of one window, with what the graph does with its input before the model."""
    windows = WindowModel(model, {})
    if (step := first_step(model, job.task, job.preprocess)) is not None:
        windows.put_before(step)
    return windows


def host_windows(model: nn.Module, target: Target) -> Windows | None:
    """The windows that the backend is to cut; None where the graph holds the whole inference.

    A fixed side that is smaller than a window has a window of its own size. Raises InputError where the target asks for
    windows and the model has none, or they do not fit its sizes or its level.
    """
    if target.slide == "graph" and target.window_batch is None:
        return None
    sliding = family_of(model).sliding(model)
    if sliding is None:
        requested = "slide host" if target.slide == "host" else f"window_batch {target.window_batch}"
        raise InputError(
            f"{requested}: {type(model).__name__} has no sliding windows here; leave it out, or give an EncoderDecoder "
            'test_cfg=dict(mode="slide", crop_size=(h, w), stride=(h, w))'
        )
    if target.slide == "graph":
        if any(side.dynamic for side in target.sides.values()):
            raise InputError(
                f"window_batch {target.window_batch} with a dynamic size: the graph takes all windows at once; leave "
                "it out, or give --slide host, whose memory does not grow with the height"
            )
        return None
    if target.level == "raw":
        raise InputError("slide host with output level raw: the head runs once for each window; use decoded or final")
    windows = sliding.windows
    for axis, crop in zip(("height", "width"), windows.crop_size, strict=True):
        sizes: AxisRange = target.axes[axis]
        if sizes.dynamic and sizes.min < crop:
            raise InputError(
                f"slide host: {axis} may be {sizes.min} pixels and a window has {crop}; give --dynamic "
                f"{axis}={crop}:{max(crop, sizes.opt)}:{max(crop, sizes.max)}"
            )
    limits = [min(crop, side.max) for crop, side in zip(windows.crop_size, target.sides.values(), strict=True)]
    strides = [min(stride, crop) for stride, crop in zip(windows.stride, limits, strict=True)]
    batch = target.window_batch or WINDOW_BATCH
    return replace(windows, crop_size=(limits[0], limits[1]), stride=(strides[0], strides[1]), batch=batch)


def sliding_of(model: nn.Module) -> Sliding:
    """The slide inference of a model that host_windows has found to have one."""
    sliding = family_of(model).sliding(model)
    assert sliding is not None
    return sliding


def export_window(
    module: WindowModel,
    target: Target,
    windows: Windows,
    path: Path,
    *,
    images: Tensor,
    required_rewriters: Sequence[str | Mapping[str, Any]],
    metadata: Mapping[str, str],
    graph_rewriters: Sequence[str | Mapping[str, Any]] = (),
    calibration: Callable[[], Calibration] = Calibration,
) -> ExportRecord:
    """Write the ONNX file of `module`, one window's model.

    `target`, `images` [N, 3, H, W] and what `calibration` makes are those of the whole images.

    Raises as export_onnx does. The rewriter of slide inference in the graph is not required here.
    """
    sliding = sliding_of(module.model)
    height, width = windows.crop_size
    batch = AxisRange(1, min(2, windows.batch), windows.batch)
    spec = TensorSpec(LOGITS, "float32", ("batch" if batch.dynamic else 1, sliding.num_classes, height, width))
    window = target.with_(
        batch=batch, height=AxisRange.fixed(height), width=AxisRange.fixed(width), level="decoded", slide="graph"
    )
    corners = torch.cat([images[..., :height, :width], images[..., -height:, -width:]])[: batch.opt]
    record = export_onnx(
        module,
        window,
        path,
        example={IMAGES.name: corners},
        output_specs=[spec],
        required_rewriters=[
            entry
            for entry in required_rewriters
            if (entry if isinstance(entry, str) else entry["name"]) != sliding.rewriter
        ],
        metadata=metadata,
        other_sizes=False,  # the comparison of the deployment covers them
    )
    example = {IMAGES.name: corners}
    record = rewritten(record, path, graph_rewriters, window, example, [spec])

    def crops() -> Calibration:
        whole = calibration()
        return replace(whole, feeds=in_windows(whole.feeds, windows))

    return at_precision(record, path, window, example, [spec], crops)


def in_windows(feeds: Feeds, windows: Windows | None) -> Feeds:
    """Of each feed of whole images the first window; as they are where the host cuts none."""
    if windows is None:
        return feeds
    height, width = windows.crop_size
    return [{IMAGES.name: feed[IMAGES.name][..., :height, :width]} for feed in feeds]


def images_spec(target: Target) -> TensorSpec:
    """The whole images that a deployment takes."""
    fixed = {axis: bounds.opt for axis, bounds in target.axes.items() if not bounds.dynamic}
    shape = (fixed.get(side, side) if isinstance(side, str) else side for side in IMAGES.shape)
    return TensorSpec(IMAGES.name, IMAGES.dtype, tuple(shape))
