"""Detections here and at the proof, as sets: near-equal scores swap places on another CPU."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.self_test.deviation import BROKEN, Deviation
from backends.self_test.matching import mask_iou, pairs_within
from zoo.comparison.decision_rule import MAX_WEIGHTED
from zoo.geometry.box_form import BoxForm
from zoo.tasks.output_role import BOX_FORMS, OutputRole, Roles

Array = NDArray[Any]
Detections = Mapping[str, Array]
"""Of one image, by their roles: scores [n], labels [n], boxes [n, c] or else masks of the image [n, h, w], and more."""
Numbers = Mapping[str, Any]

SAME_OBJECT_IOU = 0.5


def of_images(outputs: Mapping[str, Array], roles: Roles) -> list[Detections]:
    """The padded outputs [N, K, ...] as those of each image, without the slots that are not in use."""
    by_role = {roles[name]: output for name, output in outputs.items() if name in roles}
    counts = np.clip(by_role.pop(OutputRole.COUNT), 0, by_role[OutputRole.SCORES].shape[1]).tolist()
    return [{role: output[image, :count] for role, output in by_role.items()} for image, count in enumerate(counts)]


def compare(
    proved: Sequence[Detections], actual: Sequence[Detections], gates: Numbers, thresholds: Numbers
) -> list[Deviation]:
    """Image by image. `gates`: those of the graph comparison.

    `thresholds`: score, nms_iou and slots of the model, where a rounding decides: what lies on one may come and go.
    """
    pairs, lost = [], []
    for ours, theirs in zip(proved, actual, strict=True):
        matched = pairs_within(_errors(ours, theirs, gates))
        pairs += [(ours, theirs, row, column) for row, column in matched.items()]
        missing = _unexplained(ours, theirs, set(matched), gates, thresholds)
        extra = _unexplained(theirs, ours, set(matched.values()), gates, thresholds)
        lost.append((ours, theirs, missing, extra))
    return [*_sets(pairs, lost, gates), *_details(pairs, gates)]


def _errors(ours: Detections, theirs: Detections, gates: Numbers) -> NDArray[np.float64]:
    """How many times its gate each pair of detections is apart, [n, m]; infinite between labels.

    Without boxes, detections whose masks overlap are a pair, and the masks of pairs have a gate of their own.
    """
    if boxes := _boxes(ours):
        role, form = boxes
        errors = form.errors(ours[role], theirs[role])
        place = np.max([error / gates[name] for name, error in errors.items()], axis=0)
    else:
        overlap = overlaps(ours, theirs)
        place = np.where(overlap >= SAME_OBJECT_IOU, 1.0 - overlap, BROKEN)
    score = np.abs(ours["scores"][:, None].astype(np.float64) - theirs["scores"][None])
    error = np.maximum(place, score / gates["scores"])
    same = ours["labels"][:, None] == theirs["labels"][None]
    return np.where(same & np.isfinite(error), error, BROKEN)


def overlaps(ours: Detections, theirs: Detections) -> NDArray[np.float64]:
    """How much each pair of detections overlaps, [n, m]: the IoU of their boxes, or of their masks without boxes."""
    if boxes := _boxes(ours):
        role, form = boxes
        return form.iou(ours[role], theirs[role])
    return mask_iou(ours[OutputRole.IMAGE_MASKS], theirs[OutputRole.IMAGE_MASKS])


def _unexplained(
    side: Detections, other: Detections, paired: set[int], gates: Numbers, thresholds: Numbers
) -> list[int]:
    """Detections of one side without a partner, that no threshold of the model explains.

    Scores that were weighted behind the threshold may have been compared as any number: few of those below it may go.
    """
    left = [index for index in range(len(side["scores"])) if index not in paired]
    left = [index for index in left if not _on_a_threshold(index, side, other, gates, thresholds)]
    if not thresholds.get("weighted"):
        return left
    above = [index for index in left if side["scores"][index] >= thresholds["score"]]
    return above if len(left) - len(above) <= MAX_WEIGHTED else left


def _on_a_threshold(index: int, side: Detections, other: Detections, gates: Numbers, thresholds: Numbers) -> bool:
    """Its score is at the score threshold, or at the last one's where all slots are full, or NMS nearly took it."""
    score = float(side["scores"][index])
    lowest, slots, overlap = (thresholds.get(name) for name in ("score", "slots", "nms_iou"))
    if lowest is not None and abs(score - lowest) <= gates["scores"]:
        return True
    full = slots is not None and len(side["scores"]) == len(other["scores"]) == slots
    if full and score <= float(other["scores"].min()) + gates["scores"]:
        return True
    if overlap is None:
        return False
    rivals = side["scores"] >= side["scores"][index]
    if not thresholds.get("class_agnostic"):
        rivals &= side["labels"] == side["labels"][index]
    rivals[index] = False
    boxes = _boxes(side)
    assert boxes is not None  # only boxes are suppressed
    role, form = boxes
    ious = form.iou(side[role][index : index + 1], side[role][rivals])[0]
    return bool(np.any(np.abs(ious - overlap) <= gates["nms_iou"]))


Pair = tuple[Detections, Detections, int, int]
Lost = tuple[Detections, Detections, list[int], list[int]]


def _sets(pairs: Sequence[Pair], lost: Sequence[Lost], gates: Numbers) -> Iterator[Deviation]:
    """Of boxes, scores, and what is of one side alone. A lost detection is off by what the nearest of its label is."""
    apart, missed, added = list(pairs), 0, 0
    for ours, theirs, missing, extra in lost:
        free = list(extra)
        shared = overlaps(ours, theirs) if missing and extra else None
        for row in missing:
            column = None if shared is None else _nearest(ours, theirs, row, free, shared[row])
            if column is None:
                missed += 1
                continue
            free.remove(column)
            apart.append((ours, theirs, row, column))
        added += len(free)
    if lost and (boxes := _boxes(lost[0][0])):
        yield from _box_errors(boxes, apart, gates)
    scores = [abs(float(ours["scores"][row]) - float(theirs["scores"][column])) for ours, theirs, row, column in apart]
    yield Deviation.of("scores", np.array(scores, np.float64), gates["scores"], "detections")
    detail = f"{missed} that were proved are missing, {added} are new"
    yield Deviation("detections", missed + added, 0, "detections", detail)


def _nearest(ours: Detections, theirs: Detections, row: int, columns: Sequence[int], shared: Array) -> int | None:
    """The one of these columns that overlaps most, where it has the label and is the same object.

    `shared`: how much the row overlaps each, [m].
    """
    best = [(float(shared[column]), -column) for column in columns if ours["labels"][row] == theirs["labels"][column]]
    overlap, column = max(best, default=(0.0, 0))
    return -column if overlap >= SAME_OBJECT_IOU else None


def _boxes(side: Detections) -> tuple[OutputRole, BoxForm] | None:
    """The role and the form of their boxes; None where they have none."""
    return next(((role, form) for role, form in BOX_FORMS.items() if role in side), None)


def _box_errors(boxes: tuple[OutputRole, BoxForm], pairs: Sequence[Pair], gates: Numbers) -> Iterator[Deviation]:
    """By the gates of their form."""
    role, form = boxes
    errors = [form.errors(ours[role][r : r + 1], theirs[role][c : c + 1]) for ours, theirs, r, c in pairs]
    for name, unit in form.units.items():
        values = np.array([error[name][0, 0] for error in errors], np.float64)
        yield Deviation.of(name, values, gates[name], "detections", unit)


def _details(pairs: Sequence[Pair], gates: Numbers) -> Iterator[Deviation]:
    """Of masks, image masks and keypoints of the pairs."""
    names = pairs[0][0].keys() if pairs else ()
    for name, rule in DETAILS.items():
        if name in names:
            first = np.stack([ours[name][row] for ours, _, row, _ in pairs])
            second = np.stack([theirs[name][column] for _, theirs, _, column in pairs])
            yield rule(first, second, gates)


def _masks(ours: Array, theirs: Array, gates: Numbers) -> Deviation:
    errors = np.abs(ours.astype(np.float64) - theirs).reshape(len(ours), -1).max(axis=1, initial=0.0)
    return Deviation.of("masks", errors, gates["masks"], "masks")


def _image_masks(ours: Array, theirs: Array, gates: Numbers) -> Deviation:
    """The part of the object's pixels that differ; one always may."""
    changed = (ours != theirs).reshape(len(ours), -1).sum(axis=1)
    parts = np.where(changed > 1, changed / np.maximum((ours != 0).reshape(len(ours), -1).sum(axis=1), 1), 0.0)
    return Deviation.of("image_masks", parts, gates["image_masks_of_object"], "masks", "of an object")


def _keypoints(ours: Array, theirs: Array, gates: Numbers) -> Deviation:
    """A keypoint is the largest pixel of a heatmap. One that lies elsewhere with the same value may, if few do."""
    far = np.abs(ours[..., :2].astype(np.float64) - theirs[..., :2]).max(axis=2, initial=0.0)
    spread = float(np.ptp(ours[..., 2])) or 1.0
    same_value = np.abs(ours[..., 2].astype(np.float64) - theirs[..., 2]) / spread <= gates["keypoint_values"]
    moved = (far > gates["keypoints"]) & same_value
    if moved.sum() <= max(1, int(gates["moved_keypoints"] * moved.size)):
        far[moved] = 0.0
    far[~same_value] = np.maximum(far, np.nextafter(gates["keypoints"], BROKEN))[~same_value]
    return Deviation.of("keypoints", far, gates["keypoints"], "keypoints", "px")


DETAILS = {
    OutputRole.MASKS: _masks,
    OutputRole.IMAGE_MASKS: _image_masks,
    OutputRole.KEYPOINTS: _keypoints,
}
