"""The three COCO metrics against COCOeval itself, fed as its documentation says, and against repeated images."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as run_lengths
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from tests.examples import examples, slow_but
from tests.zoo.metrics.scenes import CLASSES, KEYPOINTS, SIZE, Pairs, detection_scenes, draws, processed, repeated
from zoo.errors import InputError
from zoo.metrics import CocoBoxAP, CocoKeypointAP, CocoMaskAP
from zoo.metrics.coco_ap import CocoAP
from zoo.tasks.instance_segmentation import InstanceSegmentationResult

SIGMAS = tuple(np.linspace(0.03, 0.09, KEYPOINTS).tolist())
METRICS: dict[str, Callable[[], CocoAP]] = {
    "bbox": CocoBoxAP,
    "segm": CocoMaskAP,
    "keypoints": lambda: CocoKeypointAP(sigmas=SIGMAS),
}
BOX_FIGURES = ["box_AP", "box_AP50", "box_AP75"]
FIGURES = {
    "bbox": ["box_AP", "box_AP50", "box_AP75", "box_AP_small", "box_AP_medium", "box_AP_large"],
    "segm": ["mask_AP", "mask_AP50", "mask_AP75", "mask_AP_small", "mask_AP_medium", "mask_AP_large"],
    "keypoints": ["keypoint_AP", "keypoint_AP50", "keypoint_AP75", "keypoint_AP_medium", "keypoint_AP_large"],
}
seeds = st.integers(0, 2**32 - 1)


def official(pairs: Pairs, shape: str) -> dict[str, float]:
    """The annotation file and the result list of COCO's web page, through COCO, loadRes and COCOeval."""
    annotations, results = [], []
    for item, result in pairs:
        for index, box in enumerate(item["boxes"].tolist()):
            points = item["keypoints"][index]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": item["image_id"],
                    "category_id": int(item["labels"][index]),
                    "bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]],
                    "area": float(item["areas"][index]),
                    "iscrowd": int(item["iscrowd"][index]),
                    "segmentation": item["masks"][index],
                    "keypoints": points.ravel().tolist(),
                    "num_keypoints": int((points[:, 2] > 0).sum()),
                }
            )
        for index, box in enumerate(result["boxes"].tolist()):
            shapes = {
                "bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]],
                "segmentation": run_lengths.encode(np.asfortranarray(result["masks"][index], np.uint8)),
                "keypoints": result["keypoints"][index].astype(float).ravel().tolist(),
            }
            key = "segmentation" if shape == "segm" else shape
            record = {"image_id": item["image_id"], "category_id": int(result["labels"][index])}
            results.append(record | {"score": float(result["scores"][index]), key: shapes[key]})
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {
            "info": {},
            "images": [{"id": item["image_id"], "height": SIZE[0], "width": SIZE[1]} for item, _ in pairs],
            "annotations": annotations,
            "categories": [{"id": label, "name": str(label)} for label in range(CLASSES + 1)],
        }
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(results), shape)
        evaluation.params.kpt_oks_sigmas = np.asarray(SIGMAS)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    points = [100 * value if value >= 0 else np.nan for value in evaluation.stats]
    figures = dict(zip([f"coco/{name}" for name in FIGURES[shape]], points, strict=False))
    if shape != "bbox":  # the boxes are judged, too
        boxes = official(pairs, "bbox")
        figures |= {f"coco/{name}": boxes[f"coco/{name}"] for name in BOX_FIGURES}
    return figures


@pytest.mark.parametrize("shape", METRICS)
@given(seed=seeds, ties=st.booleans())
@examples(5, 15)
def test_against_cocoeval(seed: int, ties: bool, shape: str) -> None:
    rng = np.random.default_rng(seed)
    pairs = detection_scenes(rng, 5, ties=ties)
    if not any(len(result["scores"]) for _, result in pairs):
        return  # loadRes takes no empty list
    expected = official(pairs, shape)
    order = rng.permutation(len(pairs))  # equal scores rank by image id, whatever the order of the data set
    figures = processed(METRICS[shape](), [pairs[index] for index in order])
    assert list(figures) == list(expected)
    assert figures == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("shape", METRICS)
@given(seed=seeds, ties=st.booleans())
@examples(3, 10)
def test_resampled_is_the_figure_of_repeated_images(seed: int, ties: bool, shape: str) -> None:
    rng = np.random.default_rng(seed)
    metric = METRICS[shape]()
    pairs = detection_scenes(rng, 5, ties=ties)
    figures = processed(metric, [pairs[index] for index in rng.permutation(len(pairs))])
    counts = draws(rng, len(pairs), 5)
    resampled = metric.resampled(metric.per_image, counts)
    np.testing.assert_allclose(resampled, repeated(metric, metric.per_image, counts), rtol=0, atol=1e-9)
    assert resampled[0] == pytest.approx(figures[metric.main_key], abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(("shape", "limit"), slow_but([("bbox", 100), ("segm", 100), ("keypoints", 20)], ("bbox", 100)))
def test_the_best_detections_of_an_image_alone_count(shape: str, limit: int) -> None:
    pairs = detection_scenes(np.random.default_rng(8), 3)
    for _, result in pairs:
        for name in ("boxes", "labels", "masks", "keypoints"):
            result[name] = np.repeat(result[name], 60, axis=0)
        result["scores"] = np.random.default_rng(0).random(len(result["labels"])).astype(np.float32)
    assert max(np.bincount(result["labels"]).max() for _, result in pairs) > 2 * limit
    metric = METRICS[shape]()
    figures = processed(metric, pairs)
    assert figures == pytest.approx(official(pairs, shape), abs=1e-9, nan_ok=True)
    counts = draws(np.random.default_rng(1), len(pairs), 5)
    expected = repeated(metric, metric.per_image, counts)
    np.testing.assert_allclose(metric.resampled(metric.per_image, counts), expected, rtol=0, atol=1e-9)


def without(record: dict[str, Any]) -> dict[str, Any]:
    """The record with no objects in it."""
    return {key: value if key in ("image", "image_id") else value[:0] for key, value in record.items()}


@pytest.mark.parametrize("shape", METRICS)
def test_nothing_found_is_0_where_there_is_something_to_find(shape: str) -> None:
    pairs = detection_scenes(np.random.default_rng(0), 4)
    for item, _ in pairs:
        kept = np.flatnonzero((item["areas"] > 32**2) & (item["areas"] < 96**2) & (item["iscrowd"] == 0))
        for name in ("boxes", "labels", "areas", "iscrowd", "keypoints"):
            item[name] = item[name][kept]
        item["masks"] = [item["masks"][index] for index in kept]
    metric = METRICS[shape]()
    figures = processed(metric, [(item, without(result)) for item, result in pairs])
    main, medium, large = (figures[f"{metric.main_key}{size}"] for size in ("", "_medium", "_large"))
    assert main == medium == 0
    assert np.isnan(large)
    assert metric.resampled(metric.per_image, np.ones((2, 4), np.int64)).tolist() == [0, 0]


@pytest.mark.parametrize("shape", METRICS)
@pytest.mark.parametrize("crowd", [False, True])
def test_no_truth_is_no_figure(shape: str, crowd: bool) -> None:
    pairs = detection_scenes(np.random.default_rng(0), 4)
    if crowd:
        pairs = [(item | {"iscrowd": np.ones(len(item["labels"]), int)}, result) for item, result in pairs]
    else:
        pairs = [(without(item), result) for item, result in pairs]
    metric = METRICS[shape]()
    assert np.isnan(list(processed(metric, pairs).values())).all()
    assert np.isnan(metric.resampled(metric.per_image, np.ones((2, 4), np.int64))).all()


def test_masks_come_as_arrays_or_as_either_run_length_code() -> None:
    _, result = detection_scenes(np.random.default_rng(4), 1)[0]
    arrays = {"truth": result["masks"], "found": np.roll(result["masks"], 2, axis=1)}
    compressed = {
        side: [run_lengths.encode(np.asfortranarray(mask, np.uint8)) for mask in masks]
        for side, masks in arrays.items()
    }
    plain = {side: [{"size": list(SIZE), "counts": listed(mask)} for mask in masks] for side, masks in arrays.items()}
    item = {"image": np.zeros((*SIZE, 3), np.uint8), "image_id": 0, "labels": result["labels"]}
    first, *others = (
        processed(CocoMaskAP(), [(item | {"masks": masks["truth"]}, result | {"masks": masks["found"]})])
        for masks in (arrays, compressed, plain)
    )
    assert 0 < first["coco/mask_AP"] < 100
    for other in others:
        np.testing.assert_equal(other, first)


def listed(mask: np.ndarray) -> list[int]:
    """Runs of 0 and 1 in turn, column by column."""
    flat = mask.ravel(order="F")
    ends = np.flatnonzero(np.diff(flat)) + 1
    runs = np.diff([0, *ends, len(flat)]).tolist()
    return [0, *runs] if flat[0] else runs


def test_a_mask_of_another_size_is_refused() -> None:
    item = {"image": np.zeros((*SIZE, 3), np.uint8), "image_id": 0, "labels": [], "masks": []}
    result = {"labels": [0], "scores": [0.5], "masks": np.ones((1, 28, 28), bool)}
    with pytest.raises(InputError, match=r"mask: got \[28, 28\], expected the image's \[160, 200\]"):
        CocoMaskAP().process([item], [result])


@pytest.mark.parametrize("side", ["truth", "result"])
@pytest.mark.parametrize("counts", [[31_999], "Y1", b"Y1", "Ya!", [32_001, -1], None])
def test_run_lengths_that_do_not_fill_the_image_are_refused(counts: Any, side: str) -> None:
    whole, broken = ({"size": list(SIZE), "counts": runs} for runs in ([0, SIZE[0] * SIZE[1]], counts))
    item = {"image": np.zeros((*SIZE, 3), np.uint8), "image_id": 0, "labels": [0]}
    masks = {"truth": whole, "result": whole} | {side: broken}
    with pytest.raises(InputError, match=r"mask: .*(run lengths|counts)"):  # COCOeval would never come to an end
        CocoMaskAP().process(
            [item | {"masks": [masks["truth"]]}], [{"labels": [0], "scores": [0.5], "masks": [masks["result"]]}]
        )


def test_another_number_of_keypoints_is_refused() -> None:
    item, result = detection_scenes(np.random.default_rng(0), 1)[0]
    with pytest.raises(InputError, match=r"keypoints: got \[\d+, 5, 3\], expected \[n, 17, 3\]; give the evaluator as"):
        CocoKeypointAP().process([item], [result])
    with pytest.raises(InputError, match="CocoKeypointAP: got sigmas 5, expected a list of numbers above 0"):
        CocoKeypointAP(sigmas=5)  # type: ignore[arg-type]


def test_a_keypoint_that_is_not_finite_is_never_right() -> None:
    points = np.array([[[20.0, 20, 2], [60, 60, 2]]])
    item = {"image_id": 0, "keypoints": points, "boxes": [[10, 10, 90, 90]], "labels": [0], "areas": [4000.0]}

    def ap(broken: float) -> float:
        found = points.copy()
        found[0, :, 0] *= broken
        metric = CocoKeypointAP(sigmas=(0.1, 0.1))
        metric.process([item], [{"keypoints": found, "scores": [0.9], "labels": [0]}])
        return float(metric.evaluate(1)["coco/keypoint_AP"])

    assert ap(1.0) == pytest.approx(100)
    assert ap(np.nan) == ap(np.inf) == 0


def test_the_default_sigmas_are_cocos() -> None:
    evaluation = COCOeval(iouType="keypoints")
    np.testing.assert_allclose(CocoKeypointAP().sigmas, evaluation.params.kpt_oks_sigmas)


def test_masks_inside_boxes_are_judged_as_they_are_pasted() -> None:
    rng = np.random.default_rng(4)
    pairs = detection_scenes(rng, 6)
    inside = []
    for item, result in pairs:
        masks = (rng.random((len(result["boxes"]), 28, 28)) < 0.9).astype(np.float32)
        found = InstanceSegmentationResult(result["boxes"], result["scores"], result["labels"], masks)
        result["masks"] = found.image_masks(*SIZE)
        result["boxes"] = np.clip(result["boxes"], 0, [*SIZE[::-1]] * 2)  # as frames of masks they may reach past it
        inside.append((item, found))
    figures = processed(CocoMaskAP(), inside)
    assert figures == pytest.approx(processed(CocoMaskAP(), pairs), nan_ok=True)
    assert figures["coco/mask_AP"] > 1
