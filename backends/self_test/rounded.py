"""Below fp32: a rounding that falls otherwise is a whole step of a quantised tensor, and single values say little.

Outputs are compared as a whole, by their relative distance |here - proved| / |proved|. Integer kernels give the same
everywhere; a CPU that saturates, or kernels that compute in float, do not: docs/measured/self_test.md has how far.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from backends.self_test.detections import Detections, of_images, overlaps
from backends.self_test.deviation import BROKEN, Deviation
from backends.self_test.kept_part import Array, Arrays, are_detections, kept_values, row_names
from backends.self_test.label_maps import labels
from backends.self_test.matching import pairs_within
from backends.self_test.rows import partners
from backends.self_test.stored import SelfTest
from zoo.tasks.output_role import OutputRole

DISTANCE, PIXELS = "distance", "pixels"
LEAST_IOU = 0.5
NEAR = 0.01  # of the range: a row that is no further off is the one at its own place


def deviations(test: SelfTest, outputs: Arrays, gates: Mapping[str, Any]) -> list[Deviation]:
    """Of scores of detections, values of tensors and rows (gate "distance"), and label maps (gate "pixels")."""
    if are_detections(test.outputs, test.roles):
        pairs = zip(of_images(test.outputs, test.roles), of_images(outputs, test.roles), strict=True)
        proved, actual = (np.concatenate(side) for side in zip(*(_scores(*pair) for pair in pairs), strict=True))
        paired = "detections, paired by label and IoU"
        return [_distance("scores", proved, actual, gates, paired, from_zero=True)]
    scores = [name for name, role in test.roles.items() if role is OutputRole.SCORES]
    names = row_names(test.outputs, test.roles)
    rows = partners(test, outputs, {name: NEAR * test.ranges.get(name, 1.0) for name in names}) if names else {}
    values = [
        labels(name, test, outputs[name], gates[PIXELS])
        if test.roles.get(name) is OutputRole.LABEL_MAP
        else _distance(name, test.outputs[name], kept_values(outputs[name]), gates, "values", from_zero=name in scores)
        for name in test.shapes
        if name not in rows
    ]
    return values + [
        _distance(name, test.outputs[name], rows[name], gates, "values of rows", from_zero=name in scores)
        for name in rows
    ]


def _scores(ours: Detections, theirs: Detections) -> tuple[Array, Array]:
    """Scores at the proof and here of the same objects; 0 on the side that has none."""
    iou = overlaps(ours, theirs)
    same = (ours["labels"][:, None] == theirs["labels"][None]) & (iou >= LEAST_IOU)
    pairs = pairs_within(np.where(same, 1.0 - iou, BROKEN))
    extra = [column for column in range(len(theirs["scores"])) if column not in pairs.values()]
    proved = np.concatenate([ours["scores"], np.zeros(len(extra))])
    here = [theirs["scores"][pairs[row]] if row in pairs else 0.0 for row in range(len(ours["scores"]))]
    return proved, np.array([*here, *theirs["scores"][extra]], np.float64)


def _distance(
    name: str, proved: Array, actual: Array, gates: Mapping[str, Any], things: str, *, from_zero: bool
) -> Deviation:
    """Relative to the proved values themselves where they count `from_zero`, as scores do, else to their deviation."""
    values = proved.astype(np.float64)
    norm = float(np.linalg.norm(values if from_zero else values - values.mean())) if values.size else 0.0
    distance = float(np.linalg.norm(values - actual)) / (norm or 1.0)
    worst = distance if np.isfinite(distance) else BROKEN
    return Deviation(name, worst, gates[DISTANCE], "of their size", f"{values.size} {things}")
