"""The gates of parity: how far an engine may be from the unpatched model. Data; a config's ``gates`` overrides it."""

from collections.abc import Mapping
from typing import Any

from zoo.errors import InputError, nearest

Gates = Mapping[str, Mapping[str, float]]

# (a) identical tensors into both, fp32. The bounds of the design.
GRAPH: Mapping[str, float] = {
    "logits": 1e-4,  # largest error as a part of the reference's range; a label may change below twice this margin
    "boxes": 0.05,  # pixels of the graph's input
    "scores": 5e-4,
    "nms_iou": 1e-4,  # an overlap this near to the model's NMS threshold may fall on either side
}

# (b) an image into both, each with a preprocessing of its own: production resizes bytes with OpenCV, the reference
# floats with torch. Measured over the 64 images of digits val and 22 rescaled copies of them (0.6 to 2.6 times), on
# the three shipped models; for the input also over 300 random pairs of sizes of noise, with OpenCV 4.10 and 5.0:
# - input: largest difference 0.84 grey levels of 255, largest mean 0.27. Every wrong rule that was tried (swapped
#   colours, stretch for letterbox, nearest or area for bilinear, a padding of 113 for 114) is at 1 or above.
# - boxes and scores, end to end: of 1255 pairs, 99.5 % within 0.24 px and all within 0.0166; three pairs are further
#   apart (1.1 to 7.4 px) and one box has no partner, because a proposal crosses a threshold of the RPN. Such a one
#   passes only where it is explained: see pipeline_parity.py.
# - pixels, end to end: at most 0.00054 of a picture relabelled, all on edges of objects.
PIPELINE: Mapping[str, float] = {
    "input_max": 0.99,  # grey levels of 255, between the two input tensors
    "input_mean": 0.4,
    "boxes": 0.5,  # pixels of the graph's input
    "scores": 0.03,
    "nms_iou": 0.01,
    "pixels": 0.002,  # the part of a picture's pixels that may change their label
}

DEFAULT_GATES: Gates = {"graph": GRAPH, "pipeline": PIPELINE}


def merged_gates(overrides: Mapping[str, Any] | None = None) -> dict[str, dict[str, float]]:
    """The default gates with a config's ``gates`` put over them: ``dict(graph=dict(boxes=0.1))``.

    Raises InputError for an unknown name or a value that is not a positive number; all faults in one message.
    """
    gates = {kind: dict(values) for kind, values in DEFAULT_GATES.items()}
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
