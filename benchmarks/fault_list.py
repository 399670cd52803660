"""The planted faults: what is wrong in which model, and the module that a layer-by-layer alignment must name."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from planting import (
    Edit,
    arrays,
    attribute,
    constant,
    last_rows,
    noise,
    one_number,
    patched,
    scaled,
    swapped,
    weights,
)

from backends.calls import Calls
from backends.runner import Runner
from zoo.manifest import Manifest
from zoo.preprocess import Geometry, PlacedImage, Preprocess

ManifestEdit = Callable[[Manifest], Manifest]
Runtime = Callable[[], AbstractContextManager[None]]
TWO_STAGE, DENSE = "detection/faster-rcnn_r18-fpn_digits", "detection/retinanet_r18-fpn_digits"
YOLO, SLIDE = "detection/yolov5n_digits", "segmentation/fcn_r18-slide_digits"
RESOLVER = "restoration/srcnn_x3_photographs"
CONFIGS = (TWO_STAGE, DENSE, YOLO, SLIDE, RESOLVER)
POOL, RPN, HEADS, LEVELS, FPN = "roi_heads.box_roi_pool", "rpn", "roi_heads", "head", "backbone.fpn"


@dataclass(frozen=True)
class Fault:
    """``kind``: weights, attribute, constant, threshold, preprocessing, class map or runtime.

    ``module``: where the graph is wrong, "" for the model's own forward; None where the fault is in no module.
    """

    config: str
    kind: str
    what: str
    graph: Edit | None = None
    manifest: ManifestEdit | None = None
    runtime: Runtime = nullcontext
    module: str | None = None

    @property
    def name(self) -> str:
        """The key of its result."""
        return f"{self.config.split('/')[1]}: {self.what}"


def _graph(config: str, kind: str, what: str, module: str, edit: Edit) -> Fault:
    return Fault(config, kind, what, graph=edit, module=module)


def _preprocess(config: str, what: str, **fields: Any) -> Fault:
    def edit(manifest: Manifest) -> Manifest:
        return replace(manifest, preprocess=replace(manifest.preprocess, **fields))

    return Fault(config, "preprocessing", what, manifest=edit)


def _classes(config: str, what: str, change: Callable[[list[Any]], list[Any]]) -> Fault:
    return Fault(
        config, "class map", what, manifest=lambda made: replace(made, classes=tuple(change(list(made.classes))))
    )


def _runtime(config: str, what: str, target: Any, name: str, wrap: Callable[[Any], Any]) -> Fault:
    return Fault(config, "runtime", what, runtime=patched(target, name, wrap))


def _swap_names(classes: list[Any]) -> list[Any]:
    return [classes[0], classes[2]._replace(category_id=classes[1].category_id), classes[1], *classes[3:]]


def _other_ids(classes: list[Any]) -> list[Any]:
    return [*classes[:-1], classes[-1]._replace(category_id=99)]


def _result(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Of what a method gives."""
    return lambda right: lambda *arguments, **options: change(right(*arguments, **options))


def _outputs(change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Callable[[Any], Any]:
    return _result(lambda found: change(dict(found)))


def _half_scores(found: Mapping[str, Any]) -> dict[str, Any]:
    return {**found, "scores": found["scores"].astype(np.float16).astype(np.float32)}


def _first_lost(found: Mapping[str, Any]) -> dict[str, Any]:
    return {**found, "num_dets": np.maximum(found["num_dets"] - 1, 0)}


def _red_for_blue(right: Any) -> Any:
    def placed(self: Any, image: Any) -> PlacedImage:
        made: PlacedImage = right(self, image)
        return made._replace(resized=np.ascontiguousarray(made.resized[..., ::-1]))

    return placed


def _detector(config: str, final: str, score: float) -> list[Fault]:
    """What all detectors share. ``final``: the module with the last NMS."""
    return [
        _graph(config, "threshold", "final NMS at 0.505", final, constant(final, "NonMaxSuppression", 0.5, 0.505)),
        _graph(config, "threshold", "final NMS at 0.6", final, constant(final, "NonMaxSuppression", 0.5, 0.6)),
        _graph(config, "threshold", "score threshold 0.06", final, constant(final, "Greater", score, 0.06)),
        _graph(config, "threshold", "score threshold 0.0501", final, constant(final, "Greater", score, 0.0501)),
        _preprocess(config, "padded with 0", pad_value=0),
        _preprocess(config, "padded with 113", pad_value=113),
        _classes(config, "two names swapped", _swap_names),
        _runtime(
            config, "boxes half a pixel off", Geometry, "boxes_to_image", _result(lambda boxes: boxes + np.float32(0.5))
        ),
    ]


def _faults() -> list[Fault]:
    return [
        *_detector(TWO_STAGE, HEADS, 0.05),
        _graph(
            TWO_STAGE,
            "weights",
            "one convolution by 1 %",
            f"{FPN}.inner_blocks.2.0",
            weights(f"{FPN}.inner_blocks.2.0", noise(0.01)),
        ),
        _graph(
            TWO_STAGE,
            "weights",
            "largest weight of fc7 doubled",
            "roi_heads.box_head.fc7",
            weights("roi_heads.box_head.fc7", one_number(2), "Gemm"),
        ),
        _graph(
            TWO_STAGE,
            "weights",
            "two classes of the predictor swapped",
            "roi_heads.box_predictor.cls_score",
            weights("roi_heads.box_predictor.cls_score", swapped(3, 5), "Gemm", 2),
        ),
        _graph(
            TWO_STAGE,
            "attribute",
            "RoIAlign of the second level: half_pixel",
            POOL,
            attribute(POOL, "RoiAlign", 1, coordinate_transformation_mode="half_pixel"),
        ),
        _graph(
            TWO_STAGE,
            "attribute",
            "RoIAlign of the coarsest level: one sample",
            POOL,
            attribute(POOL, "RoiAlign", 3, sampling_ratio=1),
        ),
        _graph(TWO_STAGE, "attribute", "the pyramid's Resize: linear", FPN, attribute(FPN, "Resize", mode="linear")),
        _graph(TWO_STAGE, "constant", "level mapping at 200", POOL, constant(POOL, "Div", 224, 200)),
        _graph(TWO_STAGE, "constant", "level mapping: the coarsest level is 4", POOL, constant(POOL, "Clip", 5, 4)),
        _graph(TWO_STAGE, "constant", "coarsest anchors by 2 px", RPN, arrays(RPN, last_rows(60, 2.0), 1000)),
        _graph(TWO_STAGE, "constant", "box weights 10 for 9.9", HEADS, constant(HEADS, "Div", 10, 9.9)),
        _graph(TWO_STAGE, "constant", "clamp of box sizes at 3", HEADS, constant(HEADS, "Clip", 4.135166645, 3.0)),
        _graph(TWO_STAGE, "constant", "clip of proposals at 310 px", RPN, constant(RPN, "Min", 320, 310)),
        _graph(TWO_STAGE, "threshold", "proposals: NMS at 0.71", RPN, constant(RPN, "NonMaxSuppression", 0.7, 0.71)),
        _graph(TWO_STAGE, "threshold", "100 proposals for 300", RPN, constant(RPN, "TopK", 300, 100)),
        _graph(
            TWO_STAGE,
            "threshold",
            "least side of proposals 8 px for 0.001",
            RPN,
            constant(RPN, "GreaterOrEqual", 0.001, 8.0),
        ),
        _graph(
            TWO_STAGE, "threshold", "least box side 1 px for 0.01", HEADS, constant(HEADS, "GreaterOrEqual", 0.01, 1.0)
        ),
        *_detector(DENSE, "", 0.05),
        _graph(
            DENSE,
            "weights",
            "the class head's first convolution by 1 %",
            "head.classification_head.conv.0.0",
            weights("head.classification_head.conv.0.0", noise(0.01)),
        ),
        _graph(
            DENSE,
            "weights",
            "box head's biases by 0.1 %",
            "head.regression_head.bbox_reg",
            weights("head.regression_head.bbox_reg", scaled(1.001), place=2),
        ),
        _graph(
            DENSE,
            "attribute",
            "epsilon of a group norm 1e-2",
            "head.regression_head.conv.3.1",
            attribute("head.regression_head.conv.3.1", "InstanceNormalization", epsilon=1e-2),
        ),
        _graph(DENSE, "constant", "coarsest anchors by 2 px", "", arrays("", last_rows(180, 2.0), 1000)),
        _graph(DENSE, "constant", "clamp of box sizes at 3", "", constant("", "Clip", 4.135166645, 3.0)),
        _graph(DENSE, "constant", "clip to 250 px of 256", "", constant("", "Min", 256, 250)),
        _graph(DENSE, "constant", "box centres at 0.49 for 0.5", "", constant("", "Mul", 0.5, 0.49)),
        _graph(DENSE, "threshold", "90 detections for 100", "", constant("", "TopK", 100, 90)),
        _runtime(DENSE, "scores through halves", Runner, "run_float32", _outputs(_half_scores)),
        _runtime(DENSE, "results of a batch reversed", Calls, "_run_batch", _result(lambda found: found[::-1])),
        *_detector(YOLO, "", 0.05),
        _graph(
            YOLO,
            "weights",
            "a bottleneck by 1 %",
            "model.13.m.0.cv2.conv",
            weights("model.13.m.0.cv2.conv", noise(0.01)),
        ),
        _graph(YOLO, "weights", "the last level's head by 1 %", "model.24.m.2", weights("model.24.m.2", noise(0.01))),
        _graph(
            YOLO,
            "attribute",
            "pooling without padding on one side",
            "model.9.m",
            attribute("model.9.m", "MaxPool", pads=[1, 1, 3, 3]),
        ),
        _graph(
            YOLO,
            "attribute",
            "nearest upsampling rounds up",
            "model.11",
            attribute("model.11", "Resize", nearest_mode="ceil"),
        ),
        _graph(YOLO, "constant", "stride 31 of the coarsest level", "", constant("", "Mul", 32, 31)),
        _graph(YOLO, "constant", "cell offset 0.45 for 0.5 of one level", "", constant("", "Sub", 0.5, 0.45, 2)),
        _graph(YOLO, "constant", "exponent 2.02 for sizes of one level", "", constant("", "Pow", 2, 2.02, 2)),
        _graph(YOLO, "threshold", "500 candidates for 1000", "", constant("", "TopK", 1000, 500)),
        _runtime(YOLO, "the last detection lost", Runner, "run_float32", _outputs(_first_lost)),
        _runtime(
            YOLO,
            "boxes not clipped",
            Geometry,
            "boxes_to_image",
            lambda right: lambda self, boxes, **_: right(self, boxes, clip=False),
        ),
        _graph(
            SLIDE,
            "weights",
            "the classifier by 1 %",
            "decode_head.conv_seg",
            weights("decode_head.conv_seg", noise(0.01)),
        ),
        _graph(
            SLIDE,
            "weights",
            "a class's bias by 0.05",
            "decode_head.conv_seg",
            weights("decode_head.conv_seg", lambda bias: bias + 0.05 * (np.arange(bias.size) == 4), place=2),
        ),
        _graph(
            SLIDE,
            "weights",
            "two classes swapped",
            "decode_head.conv_seg",
            weights("decode_head.conv_seg", swapped(3, 5)),
        ),
        _graph(
            SLIDE,
            "attribute",
            "logits resized by align_corners",
            "decode_head",
            attribute("decode_head", "Resize", coordinate_transformation_mode="align_corners"),
        ),
        _graph(
            SLIDE,
            "attribute",
            "pooling pads the other side",
            "backbone.maxpool",
            attribute("backbone.maxpool", "MaxPool", pads=[0, 0, 2, 2]),
        ),
        _graph(SLIDE, "constant", "blending of windows by 1 %", "", arrays("", noise(0.01), 50)),
        _graph(SLIDE, "constant", "normalisation: one mean by 5 %", "", arrays("", one_number(1.05), 3, 3)),
        _preprocess(SLIDE, "nearest for bilinear", interpolation="nearest"),
        _preprocess(SLIDE, "stretched for letterbox", resize="stretch"),
        _classes(SLIDE, "two names swapped", _swap_names),
        _classes(SLIDE, "one category id", _other_ids),
        _runtime(
            SLIDE,
            "label map by one column",
            Geometry,
            "label_map_to_image",
            _result(lambda labels: np.roll(labels, 1, axis=1)),
        ),
        _runtime(SLIDE, "red for blue", Preprocess, "placed", _red_for_blue),
        _graph(RESOLVER, "weights", "the second layer by 1 %", "conv2", weights("conv2", noise(0.01))),
        _graph(
            RESOLVER, "weights", "largest weight of the first layer by 1 %", "conv1", weights("conv1", one_number(1.01))
        ),
        _graph(RESOLVER, "weights", "last bias doubled", "conv3", weights("conv3", scaled(2), place=2)),
        _graph(RESOLVER, "attribute", "enlarged linearly", "", attribute("", "Resize", mode="linear")),
        _graph(RESOLVER, "attribute", "cubic coefficient -0.5", "", attribute("", "Resize", cubic_coeff_a=-0.5)),
        _graph(
            RESOLVER,
            "attribute",
            "enlarged by align_corners",
            "",
            attribute("", "Resize", coordinate_transformation_mode="align_corners"),
        ),
        _graph(RESOLVER, "constant", "luminance range 1.16 for 1.164", "", constant("", "Mul", 1.16438, 1.16)),
        _graph(RESOLVER, "constant", "colour matrix by 0.5 %", "", arrays("", noise(0.005), 3, 9)),
        _runtime(
            RESOLVER,
            "rows of the image reversed",
            Runner,
            "run_float32",
            _outputs(lambda found: {name: np.ascontiguousarray(array[:, :, ::-1]) for name, array in found.items()}),
        ),
        _runtime(
            RESOLVER,
            "values cut off at 254",
            Runner,
            "run_float32",
            _outputs(lambda found: {name: np.minimum(array, np.float32(254 / 255)) for name, array in found.items()}),
        ),
        _runtime(RESOLVER, "red for blue", Preprocess, "placed", _red_for_blue),
    ]


FAULTS = _faults()
