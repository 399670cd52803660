"""Slide inference on the host: the file is one window's model, in a deployment that takes whole images."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from backends.slide_runner import LOGITS
from pipeline.export.host_part import Arrays, HostPart
from pipeline.job.job import Job
from zoo.errors import InputError
from zoo.families import Sliding, family_of, first_step
from zoo.input_specs import IMAGES
from zoo.target import AxisRange, Target
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec
from zoo.windows import WINDOW_BATCH, Windows


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


class WindowsOnHost(HostPart):
    """``windows``: those that the backend cuts."""

    gives_outputs: ClassVar[bool] = False

    def __init__(self, module: WindowModel, windows: Windows, level: str = "decoded") -> None:
        """``module``: one window's model; ``level``: of the deployment."""
        self.windows, self.sliding = windows, sliding_of(module.model)
        super().__init__(module, level, [self.sliding.rewriter])

    @property
    def fields(self) -> dict[str, Any]:
        """See Manifest."""
        return {"windows": self.windows}

    @property
    def metadata(self) -> dict[str, str]:
        """The file's own level and size, and the windows."""
        return {
            "zooport.output_level": "decoded",
            "zooport.windows": json.dumps(self.windows.to_dict(), sort_keys=True),
            "imgsz": repr(list(self.windows.crop_size)),
        }

    def file_target(self, target: Target) -> Target:
        """Of windows."""
        height, width = (AxisRange.fixed(side) for side in self.windows.crop_size)
        return target.with_(batch=self._batch, height=height, width=width, level="decoded", slide="graph")

    def file_arrays(self, arrays: Arrays) -> dict[str, NDArray[Any]]:
        """The first window of the images."""
        height, width = self.windows.crop_size
        return {IMAGES.name: np.ascontiguousarray(arrays[IMAGES.name][..., :height, :width])}

    def file_example(self, example: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The first and the last window of the first image."""
        (height, width), images = self.windows.crop_size, example[IMAGES.name]
        corners = torch.stack((images[..., :height, :width], images[..., -height:, -width:]), 1).flatten(0, 1)
        return {IMAGES.name: corners[: self._batch.opt]}

    def file_outputs(self, specs: Sequence[TensorSpec]) -> Sequence[TensorSpec]:  # noqa: ARG002 - whatever they are
        """The logits of a window."""
        batch = "batch" if self._batch.dynamic else 1
        return [TensorSpec(LOGITS, "float32", (batch, self.sliding.num_classes, *self.windows.crop_size))]

    @property
    def _batch(self) -> AxisRange:
        return AxisRange(1, min(2, self.windows.batch), self.windows.batch)
