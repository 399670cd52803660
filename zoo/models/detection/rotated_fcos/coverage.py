"""What images exercise of RotatedFCOS."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor

from zoo.contract.coverage.decisions import count_images
from zoo.contract.coverage.usage import Usage, listened
from zoo.models.detection.rotated_fcos.rotated_fcos import RotatedFCOS


@contextmanager
def rotated_fcos_coverage(model: RotatedFCOS, usage: Usage) -> Iterator[None]:
    """Count into `usage` what levels and thresholds decide while the context lasts."""

    def note(result: list[dict[str, Tensor]], _boxes: Sequence[Tensor], scores: Sequence[Tensor]) -> None:
        detections = [len(entry["scores"]) for entry in result]
        count_images(usage, detections)
        candidates = 0
        for level, of_level in enumerate(scores):
            for image in of_level:
                above = int((image > model.score_thresh).sum())
                kept = min(above, model.topk_candidates)
                usage.add("candidates", f"of level {level}", kept)
                usage.add("candidates", "removed by the score threshold", image.numel() - above)
                usage.add("candidates", "removed by the largest number of a level", above - kept)
                candidates += kept
        usage.add("detections", "removed by NMS, or by their largest number", candidates - sum(detections))

    with listened(model, "postprocess_detections", note):
        yield
