"""What point clouds exercise of the detectors on pillars."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor

from zoo.contract.coverage.usage import Usage, listened
from zoo.models.pillars.center_point import CenterPoint
from zoo.models.pillars.point_pillars import PointPillars


@contextmanager
def pillars_coverage(
    model: PointPillars | CenterPoint, usage: Usage, candidate_scores: Callable[..., Tensor]
) -> Iterator[None]:
    """Count into `usage` what the grid and the thresholds decide while the context lasts.

    `candidate_scores`: the head's maps -> scores [N, ...], before the threshold.
    """

    def note_points(_canvas: Tensor, clouds: Sequence[Tensor]) -> None:
        for cloud in clouds:
            inside = int(model.encoder.places(cloud)[2].sum())
            usage.add("points", "in a pillar", inside)
            usage.add("points", "outside of the grid", len(cloud) - inside, sought=False)

    def note(result: list[dict[str, Tensor]], *maps: Tensor) -> None:
        for detections, scores in zip(result, candidate_scores(*maps), strict=True):
            count, above = len(detections["scores"]), int((scores > model.score_thresh).sum())
            candidates = min(above, model.topk_candidates)
            usage.add("clouds", "with detections", count > 0)
            usage.add("clouds", "without detections", count == 0)
            usage.add("candidates", "removed by the score threshold", scores.numel() - above)
            usage.add("candidates", "removed by their largest number", above - candidates)
            usage.add("detections", "removed by NMS, or by their largest number", candidates - count)

    with listened(model.encoder, "forward", note_points), listened(model, "postprocess_detections", note):
        yield
