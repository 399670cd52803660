"""The layout of Ultralytics' exporter, for its tools."""

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray
from torch import nn

from zoo.errors import InputError
from zoo.families import Layout, family_of
from zoo.models.detection.yolov5.levels import UltralyticsDecoded
from zoo.target import BATCH, AxisRange, Target
from zoo.tasks.contract import Contract


class UltralyticsLayout(Layout):
    """The decoded outputs as one, `output0`, and the keys that Ultralytics' loader reads.

    The batch is 1, as in files of Ultralytics' own exporter, unless a size varies.
    """

    contract: ClassVar[type[Contract]] = UltralyticsDecoded
    level: ClassVar[str] = "decoded"
    outputs: ClassVar[tuple[str, ...]] = ("output0",)

    def default_axes(self, sides: Mapping[str, AxisRange]) -> Mapping[str, AxisRange]:
        """A batch of 1 for images of one size."""
        return {} if any(bounds.dynamic for bounds in sides.values()) else {BATCH: AxisRange.fixed(1)}

    def check(self, target: Target) -> None:
        """Level decoded; if the batch varies, so does a size."""
        if target.level != self.level:
            raise InputError(
                f"layout ultralytics with output level {target.level}: it reorders the decoded outputs; give "
                "--output-level decoded"
            )
        if target.dynamic_axes == (BATCH,):
            raise InputError(
                "layout ultralytics with a dynamic batch and a fixed size: Ultralytics' tools feed such a file images "
                "of 640x640; fix the batch (--dynamic batch=1:1:1), or let height and width vary as well"
            )

    def metadata(self, model: nn.Module, target: Target) -> Mapping[str, str]:
        """The task and the sizes, as literals of Python. `imgsz` is [height, width]."""
        arguments = {"batch": target.batch.max, "dynamic": bool(target.dynamic_axes), "nms": False}
        return {
            "imgsz": repr(list(target.preferred.values())),
            "task": "detect",
            "stride": str(family_of(model).size_divisor(model)),
            "batch": str(target.batch.max),
            "channels": "3",
            "args": repr(arguments),
        }

    def level_outputs(self, outputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """[N, 4 + C, M] -> rows of boxes [N, M, 4] (x, y, w, h) and scores [N, M, C]."""
        (output,) = (outputs[name] for name in self.outputs)
        rows = output.transpose(0, 2, 1)
        return {"boxes": rows[..., :4], "scores": rows[..., 4:]}
