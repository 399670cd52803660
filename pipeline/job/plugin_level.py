"""Level plugin: which level is exported, and which plugin node then takes the place of what follows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from rewriters.plugins.yolo_layer import OUTPUTS
from zoo.errors import InputError, nearest
from zoo.models.detection.yolov5 import YOLOv5
from zoo.tasks import Task
from zoo.tensor_spec import TensorSpec

DECODE, NMS = "yolo_decode_plugin", "efficient_nms_plugin"
DEFAULT = {"name": DECODE}


@dataclass(frozen=True)
class PluginLevel:
    """`base`: the level that is exported; `step`: the graph rewriter with its options; `outputs`: of the result.

    Axes of `outputs` as in the task's contract.
    """

    base: str
    step: Mapping[str, Any]
    outputs: tuple[TensorSpec, ...]

    @property
    def level(self) -> str:
        """Of the file: "final" where the step is asked for standard operators alone, which ONNX Runtime runs."""
        return "final" if self.step.get("form") == "onnx" else "plugin"


def check_plugin(section: Mapping[str, Any] | None) -> None:
    """Raises InputError for a config's export.plugin that names none."""
    name = DECODE if section is None else section["name"]
    if name not in (DECODE, NMS):
        raise InputError(f'export.plugin: unknown plugin "{name}"; {nearest(name, (DECODE, NMS))}')


def plugin_level(model: nn.Module, task: Task, section: Mapping[str, Any] | None) -> PluginLevel:
    """`section`: the config's export.plugin, dict(name=..., option=value); what it leaves out is the model's own.

    Raises InputError for an unknown plugin, or a model that has no such level.
    """
    check_plugin(section)
    if not isinstance(model, YOLOv5):
        raise InputError(f"level plugin: {type(model).__name__} has none; YOLOv5 has")
    given = dict(section or DEFAULT)
    if given["name"] == DECODE:
        shapes: tuple[tuple[int | str, ...], ...] = (("N", 1), ("N", "M", 4), ("N", "M"), ("N", "M"))
        kinds = ("int32", "float32", "float32", "int32")
        outputs = tuple(TensorSpec(*spec) for spec in zip(OUTPUTS, kinds, shapes, strict=True))
        return PluginLevel("raw", _decode_options(model) | given, outputs)
    return PluginLevel("decoded", _nms_options(model) | given, task.outputs("final"))


def _decode_options(model: YOLOv5) -> dict[str, Any]:
    """No detection has an objectness below its score, so the score's threshold loses none."""
    return {
        "anchors": model.anchors_in_pixels().flatten().tolist(),
        "num_classes": model.head.num_classes,
        "max_stride": model.size_divisor,
        "prenms_score_threshold": model.score_thresh,
    }


def _nms_options(model: YOLOv5) -> dict[str, Any]:
    return {
        "score_threshold": model.score_thresh,
        "iou_threshold": model.nms_thresh,
        "max_output_boxes": model.detections_per_img,
        "class_agnostic": model.class_agnostic,
        "best_class_only": True,
    }
