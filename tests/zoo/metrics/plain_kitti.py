"""KITTI's AP R40, slowly and plainly: one threshold after the other, one object after the other, no shared code.

By the text of the benchmark: at most 41 thresholds are taken from the scores of the objects that are found, so that
recall rises in steps of a fortieth; at each, every object takes one detection; precision is made to fall; the mean of
40 recalls without the first is the AP.
"""

import numpy as np

from tests.zoo.geometry.exact_clipping import exact_iou

HEIGHTS = (40, 25, 25)
BEV = (0, 1, 3, 4, 6)


def plain_iou(a, b, *, in_space):
    """Of two boxes [7]."""
    flat = exact_iou(a[list(BEV)], b[list(BEV)])
    if not in_space:
        return flat
    common = flat / (1 + flat) * (a[3] * a[4] + b[3] * b[4])
    height = min(a[2] + a[5] / 2, b[2] + b[5] / 2) - max(a[2] - a[5] / 2, b[2] - b[5] / 2)
    common *= max(height, 0)
    return common / (a[3] * a[4] * a[5] + b[3] * b[4] * b[5] - common)


def plain_ap(scenes, label, level, least, *, in_space, as_the_kit=False):
    """``scenes``: (truth boxes, labels, difficulties, found boxes, scores, labels, heights) each. -> 0..1, or NaN.

    ``as_the_kit``: a score stands for one recall; else for each that it is nearest to.
    """
    clouds = [_cloud(scene, label, level, in_space=in_space) for scene in scenes]
    total = sum(sum(counts) for _, counts, _, _ in clouds)
    if total == 0:
        return float("nan")
    hits = sorted((score for cloud in clouds for score in _found(cloud, least)), reverse=True)
    thresholds, due = [], 0.0
    for number, score in enumerate(hits):
        here, further = (number + 1) / total, (number + 2) / total
        is_last = number == len(hits) - 1
        if is_last or further - due >= due - here:
            thresholds.append(score)
            due += 1 / 40
        while not as_the_kit and due < 1 + 1e-9 and (here >= due - 1e-9 if is_last else further - due >= due - here):
            thresholds.append(score)
            due += 1 / 40
    precision = [0.0] * 41
    for place, threshold in enumerate(thresholds):
        right, wrong = (sum(part) for part in zip(*(_at(cloud, least, threshold) for cloud in clouds), strict=True))
        precision[place] = right / (right + wrong) if right + wrong else 0.0
    return sum(max(precision[place:]) for place in range(1, 41)) / 40


def _cloud(scene, label, level, *, in_space):
    """Overlaps [n][d], whether each object counts, and the scores and smallness of the detections."""
    boxes, labels, difficulties, found, scores, ids, heights = scene
    own = [index for index in range(len(boxes)) if labels[index] == label]
    near = [index for index in range(len(found)) if ids[index] == label or heights[index] < HEIGHTS[level]]
    overlaps = [[plain_iou(boxes[a], found[b], in_space=in_space) for b in near] for a in own]
    counts = [0 <= difficulties[index] <= level for index in own]
    return overlaps, counts, [scores[index] for index in near], [heights[index] < HEIGHTS[level] for index in near]


def _found(cloud, least):
    overlaps, counts, scores, small = cloud
    taken = set()
    for row, wanted in zip(overlaps, counts, strict=True):
        free = [index for index, overlap in enumerate(row) if overlap > least and index not in taken]
        if free:
            best = max(free, key=lambda index: scores[index])
            taken.add(best)
            if wanted and not small[best]:
                yield scores[best]


def _at(cloud, least, threshold):
    """How many are right and wrong."""
    overlaps, counts, scores, small = cloud
    taken, right = set(), 0
    for row, wanted in zip(overlaps, counts, strict=True):
        chosen, best = None, 0.0
        for index, overlap in enumerate(row):
            if index in taken or scores[index] < threshold or overlap <= least:
                continue
            if not small[index] and (overlap > best or chosen is None or small[chosen]):
                chosen, best = index, overlap
            elif small[index] and chosen is None:
                chosen = index
        if chosen is not None:
            taken.add(chosen)
            right += bool(wanted and not small[chosen])
    wrong = [i for i in range(len(scores)) if i not in taken and not small[i] and scores[i] >= threshold]
    return right, len(wrong)


def plain_centre_ap(scenes, label, distance):
    """nuScenes' AP: all detections of all scenes, best first. ``scenes``: as above, of which heights do not matter."""
    detections = sorted(
        (
            (float(scores[index]), number, found[index])
            for number, (_, _, _, found, scores, ids, _) in enumerate(scenes)
            for index in range(len(found))
            if ids[index] == label
        ),
        key=lambda entry: -entry[0],
    )
    objects = [[box for box, kind in zip(scene[0], scene[1], strict=True) if kind == label] for scene in scenes]
    total, taken, right, points = sum(map(len, objects)), set(), 0, []
    for rank, (_, number, box) in enumerate(detections, 1):
        free = [place for place in range(len(objects[number])) if (number, place) not in taken]
        apart = {place: np.hypot(*(objects[number][place][:2] - box[:2])) for place in free}
        nearest = min(apart, key=apart.get, default=None)
        if nearest is not None and apart[nearest] < distance:
            taken.add((number, nearest))
            right += 1
        points.append((right / total, right / rank))
    if not right:
        return 0.0
    values = []
    for recall in np.linspace(0, 1, 101)[11:]:
        precision = np.interp(recall, [x for x, _ in points], [y for _, y in points], right=0)
        values.append(max(precision - 0.1, 0.0) / 0.9)
    return sum(values) / len(values)
