"""The gates: how far an engine may be from the unpatched model. Data; a config's ``gates`` overrides it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from zoo.errors import InputError, nearest

Gates = Mapping[str, Mapping[str, float]]

# (a) identical tensors into both, fp32. The bounds of the design.
GRAPH: Mapping[str, float] = {
    "logits": 1e-4,  # largest error as a part of the reference's range; a label may change below twice this margin
    "boxes": 0.05,  # pixels of the graph's input
    "scores": 5e-4,
    "masks": 5e-3,  # probabilities in the cells of a box
    "image_masks": 1e-3,  # the part of the image's pixels in which one pasted mask may differ
    "image_masks_of_object": 0.05,  # of that object's own pixels; one pixel always may
    "keypoints": 0.05,  # pixels of the graph's input
    "keypoint_values": 1e-4,  # of the heatmaps' largest values, as a part of their range
    "moved_keypoints": 0.01,  # the part of the keypoints that may jump to another pixel of the same value
    "psnr": 70.0,  # dB at least, between two restored images as bytes; floats are held to "logits"
    "grey_levels": 1.0,  # of 255, in a restored image: values at a half may be rounded either way
    "nms_iou": 1e-4,  # an overlap this near to the model's NMS threshold may fall on either side
}

# (b) an image into both, each with a preprocessing of its own: production resizes bytes with OpenCV, the reference
# floats with torch. The figures are those of docs/measured/pipeline_gates.md, on the three shipped models, over the 64
# images of digits val and 22 rescaled copies of them:
# - input: largest difference 0.773 grey levels of 255, largest mean 0.27. The wrong rules of
#   tests/pipeline/export/test_reference_path.py (swapped colours, stretch for letterbox, nearest or area for bilinear,
#   another padding) are above the gates.
# - boxes and scores, end to end: of 1255 pairs, 99.5 % within 0.232 px, and all scores within 0.0165. Three detections
#   are further apart or without partner, never two in one image; the largest error of a pair is 7.35 px. What moves
#   further is explained where the rounding of the input moves about as many in PyTorch: see pipeline_parity.py.
# - masks, end to end: of 1546 pairs of Mask R-CNN on the 64 images of val, all within 0.15.
# - keypoints, end to end: estimates. Those of weak detections jump, in PyTorch as well.
#   Both measured by zooport deploy CONFIG --image zoo/data/digits/val/images/*.jpg.
# - restored images: they are never resized first, so the gates are those of the graph; SRCNN on its crops: 88 dB.
# - pixels, end to end: at most 0.000463 of an image relabelled, 0.000247 beyond what rounding explains. Untrained
#   models relabel up to a hundred times as much, which their rounding explains: docs/measured/input_rounding.md.
PIPELINE: Mapping[str, float] = {
    "input_max": 0.99,  # grey levels of 255, between the two input tensors
    "input_mean": 0.4,
    "boxes": 0.5,  # pixels of the graph's input
    "scores": 0.03,
    "masks": 0.25,
    "keypoints": 2.0,
    "keypoint_values": 0.05,
    "moved_keypoints": 0.02,
    "psnr": 70.0,
    "grey_levels": 1.0,
    "nms_iou": 0.01,
    "moved": 2.0,  # detections that may be further apart, for each that the rounding of the input moves in PyTorch
    "pixels": 0.001,  # the part of an image's pixels that may change their label beyond what that rounding explains
}

# The metric on a data set, by precision: the largest difference of the main figure. The bounds of the design; those of
# decibels below fp32 are in the same proportion.
METRIC: Mapping[str, Mapping[str, float]] = {
    "fp32": {"points": 0.1, "decibels": 0.01},
    "fp16": {"points": 0.3, "decibels": 0.03},
    "int8": {"points": 1.0, "decibels": 0.1},
}

GATE_OF_UNIT = {"dB": "decibels"}  # a metric's unit -> the name of its gate, where that is another


def merged_gates(
    overrides: Mapping[str, Any] | None = None, precision: str = "fp32", *, own: Gates = MappingProxyType({})
) -> dict[str, dict[str, float]]:
    """The default gates with a config's ``gates`` put over them: ``dict(graph=dict(boxes=0.1))``.

    Comparisons "graph" and "pipeline" (parity), and "metric". ``own``: gates that the task alone has. Raises InputError
    for an unknown name or a value that is not a positive number; all faults in one message.
    """
    defaults: Gates = {"graph": GRAPH, "pipeline": PIPELINE, "metric": METRIC[precision]}
    gates = {kind: {**values, **own.get(kind, {})} for kind, values in defaults.items()}
    faults = []
    for kind, values in (overrides or {}).items():
        if kind not in gates:
            faults.append(f'unknown comparison "{kind}"; {nearest(kind, gates)}')
        elif not isinstance(values, Mapping):
            faults.append(f'"{kind}": expected a dict of gates, got {values!r}')
        else:
            faults.extend(_override(kind, gates[kind], values))
    if faults:
        raise InputError("gates: " + "; ".join(faults))
    return gates


def metric_gate(gates: Gates, unit: str) -> float:
    """How far the main figure may be off, in the ``unit`` of its metric.

    Raises InputError for a unit that has no gate: a task gives one as ``gates = {"metric": {unit: ...}}``.
    """
    name = GATE_OF_UNIT.get(unit, unit)
    if name not in gates["metric"]:
        raise InputError(
            f'gates: no gate for a metric in "{unit}"; give the task gates={{"metric": {{"{unit}": 0.1}}}}, the '
            "largest difference that is allowed"
        )
    return gates["metric"][name]


def _override(kind: str, gates: dict[str, float], values: Mapping[str, Any]) -> list[str]:
    """Put ``values`` into ``gates`` and give the faults that were found."""
    faults = []
    for name, value in values.items():
        if name not in gates:
            faults.append(f'unknown gate "{kind}.{name}"; {nearest(name, gates)}')
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            faults.append(f'"{kind}.{name}": expected a positive number, got {value!r}')
        else:
            gates[name] = float(value)
    return faults
