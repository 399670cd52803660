"""Where a pixel of a mask of SOLO may come to by rounding.

A score is the mean of the mask's pixels above a threshold, lowered by how far other masks have the same pixels. So one
pixel within rounding of the threshold moves scores by far more than rounding. The model is run again with thresholds as
near: nothing else is excused.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

Result = TypeVar("Result")
PARTS = (0.01, 0.1, 1.0)  # of the tolerance: fewer or more pixels are that near


def other_mask_thresholds(
    model: Any, run: Callable[[], Result], tolerance: float
) -> Iterator[tuple[int, str, Callable[[], Result]]]:
    """For each image of `run`, which calls `model`: the reason, and what runs it with another threshold of masks.

    See Family.other_choices.
    """
    batches: list[int] = []
    hook = model.register_forward_pre_hook(lambda _module, images: batches.append(len(images[0])))
    try:
        run()
    finally:
        hook.remove()
    threshold = float(model.decisions.mask_thr)
    for image in range(batches[-1]):
        for part in PARTS:
            for other in (threshold - part * tolerance, threshold + part * tolerance):
                reason = f"pixels of masks within {part * tolerance:.1g} of the threshold {threshold:g}"
                yield image, reason, partial(_run_at, model, run, other)


def _run_at(model: Any, run: Callable[[], Result], threshold: float) -> Result:
    before = model.decisions.mask_thr
    model.decisions.mask_thr = threshold
    try:
        return run()
    finally:
        model.decisions.mask_thr = before
