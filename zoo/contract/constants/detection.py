"""Constants that families of detectors share."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from zoo.contract.constants.constant import Attributes, Constant, Read, as_array, constant

GATHERS = ("Gather", "GatherND")
UPPER, LOWER = ("Clip", "Min"), ("Clip", "Max")


def anchor_boxes(module: str, anchors: Tensor, counts: Sequence[int]) -> Constant:
    """anchors [A, 4] of all levels, `counts` of each: as the rows of one array, or their centres and sides.

    The second form is that of torchvision's BoxCoder over all anchors, the third that of its BoxLinearCoder.
    """
    boxes = as_array(anchors)
    sides = boxes[:, 2:] - boxes[:, :2]
    centers = boxes[:, :2] + np.float32(0.5) * sides
    return Constant(
        "anchors",
        module,
        (
            (Read(GATHERS, boxes),),
            tuple(Read((operator,), one) for operator, both in (("Mul", sides), ("Add", centers)) for one in both.T),
            (
                Read(("Mul",), np.tile(sides, 2)),
                *(Read((operator,), one) for operator in ("Add", "Sub") for one in centers.T),
            ),
        ),
        tuple((f"level {level}", count) for level, count in enumerate(counts)),
    )


def box_coder(module: str, coder: Any, where: str) -> Iterator[Constant]:
    """Weights and the bound of torchvision's BoxCoder; weights of 1 leave no trace."""
    counts = Counter(float(weight) for weight in coder.weights)
    for weight, count in counts.items():
        if weight != 1:
            yield constant(f"box weight {weight:g} of {where}", module, weight, "Div", count=count)
    yield constant(f"largest log scale of a box in {where}", module, coder.bbox_xform_clip, *UPPER, count=2)


def image_bounds(module: str, size: Sequence[int], where: str) -> Iterator[Constant]:
    """That boxes are clipped to an image of (h, w)."""
    for name, side in (("height", size[0]), ("width", size[1])):
        yield constant(f"image {name} that clips boxes in {where}", module, float(side), *UPPER)
    yield constant(f"zero that clips boxes in {where}", module, 0.0, *LOWER)


def kept(name: str, module: str, counts: Iterable[int]) -> Iterator[Constant]:
    """Numbers of candidates that TopK nodes keep: one node at least for each."""
    for value, count in Counter(counts).items():
        yield constant(name, module, int(value), "TopK", count=count)


def suppression(name: str, module: str, threshold: float) -> Constant:
    """The overlap above which NMS drops a box."""
    read = (Read(("NonMaxSuppression", "Greater"), np.asarray(threshold)),)
    return Constant(name, module, (read,))


def decisions(model: Any, counts: list[int]) -> Iterator[Constant]:
    """The thresholds of a detector that decides in its own forward; `counts`: what its TopK nodes keep."""
    yield from kept("candidates of a level, and detections of an image", "", counts)
    yield constant("score threshold", "", model.score_thresh, "Greater")
    yield suppression("NMS threshold", "", model.nms_thresh)


def roi_align(module: str, pooler: Any) -> Iterator[Constant]:
    """Of torchvision's MultiScaleRoIAlign that has seen an image: RoIAlign of each level, and the rule of levels."""
    height, width = pooler.output_size
    ratio = max(pooler.sampling_ratio, 0)
    scales = tuple(float(scale) for scale in pooler.scales)
    spread: tuple[Read, ...] = (
        Read(("Gather",), np.asarray(scales, np.float32)),
        *(Read(("Mul",), np.arange(bins, dtype=np.float32)) for bins in {height, width}),
        Read(("Mul",), np.arange(ratio, dtype=np.float32) + 0.5, count=2),
        *(Read(("Div",), np.asarray(float(bins))) for bins in {height, width}),
    )
    for level, scale in enumerate(scales):
        attributes = {
            "spatial_scale": scale,
            "sampling_ratio": ratio,
            "output_height": height,
            "output_width": width,
            "coordinate_transformation_mode": "output_half_pixel",  # torchvision's aligned=False
            "mode": "avg",
        }
        yield Constant(f"RoIAlign of level {level}", module, ((Attributes("RoiAlign", attributes),), spread))
    if len(scales) > 1:
        mapper = pooler.map_levels
        yield constant("canonical scale of the RoI levels", module, mapper.s0, "Div")
        yield constant("canonical level of the RoI levels", module, mapper.lvl0, "Add")
        yield constant("eps of the RoI levels", module, mapper.eps, "Add")
        yield constant("lowest RoI level", module, mapper.k_min, *LOWER)
        yield constant("highest RoI level", module, mapper.k_max, *UPPER)
        yield constant("first RoI level", module, mapper.k_min, "Sub")
