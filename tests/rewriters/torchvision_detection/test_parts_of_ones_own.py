"""torchvision's parts called by a model of one's own, or with torchvision's own lists: what torch alone exports right.

The cases of torchvision's own ONNX tests, and their neighbours. Each model is exported by torch with the rewriters in
force, and its graph is compared in ONNX Runtime with eager, unpatched PyTorch on inputs other than the traced ones.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from torch import Tensor, nn
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.roi_heads import RoIHeads, heatmaps_to_keypoints, paste_masks_in_image
from torchvision.models.detection.rpn import RegionProposalNetwork, RPNHead
from torchvision.models.detection.transform import GeneralizedRCNNTransform
from torchvision.ops import MultiScaleRoIAlign

from rewriters import export_onnx, rewriting
from rewriters.graph_passes.expand_operators import expand_operators
from tests.examples import slow_but
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_dense_models import small_detector
from tests.rewriters.small_models import fixed_target, small_faster_rcnn, small_keypoint_rcnn, small_mask_rcnn
from tests.rewriters.symbolic.operator_calls import run, target_of, written_module
from zoo.errors import ExportError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

CHANNELS = 4
SIDE = 128
LEVELS = ("0", "1", "2")
STRIDES = (4, 8, 16)
GUARDS = {"torchvision.ops.boxes.nms", "torchvision.ops.boxes.batched_nms"}  # they change nothing
MULTI = "torchvision.MultiScaleRoIAlign.forward"


class Own(nn.Module):
    """A model of one's own: what it does with its parts and its tensors."""

    def __init__(self, compute: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.compute = compute

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        result = self.compute(*self.parts, *tensors)
        return (result,) if isinstance(result, Tensor) else tuple(result)


def check(
    exporter: str,
    model: Own,
    example: Sequence[Tensor],
    other: Sequence[Tensor],
    acted: Sequence[str] = (),
    atol: float = 1e-4,
) -> None:
    """Exported with `example`, equal to eager PyTorch for `other`; `acted`: the function rewriters that took part."""
    target = target_of(exporter)
    model.eval()
    with torch.no_grad():
        model(*example)  # poolers keep the scales of the first images that they see
        expected = [tensor.numpy() for tensor in model(*other)]
        with rewriting(target) as session:
            graph = written_module(model, tuple(example), target)
    assert set(session.hits) - GUARDS == set(acted)
    expand_operators(graph, target)
    results = run(graph, other)
    assert expected[0].size
    for got, want in zip(results, expected, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, atol=atol, rtol=1e-4)


def randoms(*shape: int, seed: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def boxes_of(count: int, seed: int, *, side: int = SIDE) -> Tensor:
    corner, size = randoms(count, 2, seed=seed) * side / 2, randoms(count, 2, seed=seed + 100)
    return torch.cat([corner, corner + size**2 * side / 2 + 1], dim=1)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
class TestOperators:
    def test_nms(self, exporter: str) -> None:
        model = Own(lambda boxes, scores: torchvision.ops.nms(boxes, scores, 0.5))
        check(exporter, model, *([boxes_of(20, seed), randoms(20, seed=seed)] for seed in (1, 2)))

    def test_batched_nms(self, exporter: str) -> None:
        model = Own(lambda boxes, scores, labels: torchvision.ops.batched_nms(boxes, scores, labels, 0.5))
        labels = torch.arange(20) % 3
        check(exporter, model, *([boxes_of(20, seed), randoms(20, seed=seed), labels] for seed in (1, 2)))

    def test_clip_boxes(self, exporter: str) -> None:
        model = Own(lambda boxes: torchvision.ops.clip_boxes_to_image(boxes, (20, 25)))
        check(exporter, model, [boxes_of(6, 1) - 9], [boxes_of(6, 2) - 9])

    @pytest.mark.parametrize("aligned", [False, True])
    def test_roi_align_in_a_module(self, exporter: str, aligned: bool) -> None:
        model = Own(lambda pool, x, boxes: pool(x, [boxes]), torchvision.ops.RoIAlign((5, 4), 0.25, 2, aligned=aligned))
        check(exporter, model, *([randoms(1, 3, 32, 32, seed=seed), boxes_of(5, seed)] for seed in (1, 2)))

    def test_roi_pool_in_a_module(self, exporter: str) -> None:
        model = Own(lambda pool, x, boxes: pool(x, [boxes]), torchvision.ops.RoIPool((5, 4), 0.25))
        check(exporter, model, *([randoms(1, 3, 32, 32, seed=seed), boxes_of(5, seed)] for seed in (1, 2)))


def features_of(count: int, seed: int) -> list[Tensor]:
    return [
        randoms(count, CHANNELS, SIDE // stride, SIDE // stride, seed=seed + index)
        for index, stride in enumerate(STRIDES)
    ]


@pytest.mark.parametrize(("images", "levels"), slow_but([(1, 1), (1, 3), (2, 1), (2, 3)], (1, 1), (2, 3)))
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_multi_scale_roi_align(exporter: str, images: int, levels: int) -> None:
    """boxes=[Tensor[P, 4], ...]: the numbers of boxes are what dynamo would refuse, with more than one level."""

    def pooled(pool: nn.Module, *tensors: Tensor) -> Any:
        features = OrderedDict(zip(LEVELS, tensors[:levels], strict=False))
        return pool(features, list(tensors[levels:]), [(SIDE, SIDE)] * images)

    inputs = [
        [*features_of(images, seed)[:levels], *(boxes_of(4 + image, seed + image) for image in range(images))]
        for seed in (1, 5)
    ]
    pool = MultiScaleRoIAlign(list(LEVELS[:levels]), 3, 2, canonical_scale=32)
    check(exporter, Own(pooled, pool), *inputs, acted=[MULTI])


@pytest.mark.parametrize("levels", [1, 3])
def test_multi_scale_roi_align_of_malformed_boxes(levels: int) -> None:
    """One side reversed: torchvision pools such a box from no level where there are several, which leaves zeros."""

    def pooled(pool: nn.Module, boxes: Tensor, *tensors: Tensor) -> Any:
        return pool(OrderedDict(zip(LEVELS, tensors, strict=False)), [boxes], [(SIDE, SIDE)])

    boxes = boxes_of(5, 2)
    boxes[1] = boxes[1, [2, 1, 0, 3]]
    boxes[3] = boxes[3, [2, 3, 0, 1]]
    inputs = [[boxes_of(5, 1), *features_of(1, 1)[:levels]], [boxes, *features_of(1, 5)[:levels]]]
    pool = MultiScaleRoIAlign(list(LEVELS[:levels]), 3, 2, canonical_scale=32)
    check("torchscript", Own(pooled, pool), *inputs, acted=[MULTI])


def test_scales_of_a_pooler_that_has_seen_no_image() -> None:
    """The largest height and width of all images, as torchvision takes them."""
    pools = [MultiScaleRoIAlign(list(LEVELS), 3, 2, canonical_scale=32) for _ in range(2)]
    features = OrderedDict(zip(LEVELS, features_of(2, 1), strict=True))
    call = (features, [boxes_of(9, 1), boxes_of(3, 2)], [(50, SIDE), (SIDE, 60)])
    expected = pools[0](*call)
    with rewriting(fixed_target(SIDE, SIDE), eager=True) as session:
        assert torch.equal(pools[1](*call), expected)
    assert session.hits[MULTI] == 1


def transform_of() -> GeneralizedRCNNTransform:
    return GeneralizedRCNNTransform(60, 90, [0.4, 0.5, 0.6], [0.2, 0.3, 0.2])


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_transform_of_a_list_of_images(exporter: str) -> None:
    model = Own(lambda transform, *images: transform(list(images))[0].tensors, transform_of())
    check(exporter, model, *([randoms(3, 50, 80, seed=seed), randoms(3, 80, 80, seed=seed)] for seed in (1, 2)))


def rpn_of(**options: int) -> RegionProposalNetwork:
    torch.manual_seed(3)
    anchors = AnchorGenerator(tuple((4 * stride,) for stride in STRIDES), ((0.5, 1.0, 2.0),) * len(STRIDES))
    head = RPNHead(CHANNELS, 3)
    for layer in (head.cls_logits, head.bbox_pred):
        nn.init.normal_(layer.weight, std=2.0)
    top = {"training": 40, "testing": 40}
    return RegionProposalNetwork(anchors, head, 0.7, 0.3, 64, 0.5, top, top, 0.7)


def roi_heads_of() -> RoIHeads:
    torch.manual_seed(4)
    predictor = FastRCNNPredictor(16, 5)
    nn.init.normal_(predictor.cls_score.weight, std=2.0)
    pool = MultiScaleRoIAlign(list(LEVELS), 3, 2, canonical_scale=32)
    head = TwoMLPHead(CHANNELS * 9, 16)
    return RoIHeads(pool, head, predictor, 0.5, 0.5, 64, 0.25, None, 0.05, 0.5, 20)


def images_of(count: int) -> ImageList:
    return ImageList(torch.zeros(count, 3, SIDE, SIDE), [(SIDE, SIDE)] * count)


@pytest.mark.parametrize("count", slow_but([1, 2], 2))
def test_region_proposal_network(count: int) -> None:
    """torchvision's own lists come out, of as many boxes as there are; dynamo refuses them."""

    def proposals(rpn: nn.Module, *features: Tensor) -> Any:
        return rpn(images_of(count), OrderedDict(zip(LEVELS, features, strict=True)))[0]

    check("torchscript", Own(proposals, rpn_of()), features_of(count, 1), features_of(count, 7), atol=1e-3)


@pytest.mark.slow  # make test has whole detectors below
@pytest.mark.parametrize("count", [1, 2])
def test_roi_heads(count: int) -> None:
    def detections(rpn: nn.Module, heads: nn.Module, transform: Any, *tensors: Tensor) -> Any:
        features, images = OrderedDict(zip(LEVELS, tensors, strict=True)), images_of(count)
        results, _ = heads(features, rpn(images, features)[0], images.image_sizes)
        results = transform.postprocess(results, images.image_sizes, [(SIDE * 2, SIDE)] * count)
        return [entry[name] for entry in results for name in ("boxes", "scores", "labels")]

    model = Own(detections, rpn_of(), roi_heads_of(), transform_of())
    check("torchscript", model, features_of(count, 1), features_of(count, 7), acted=[MULTI], atol=2e-3)


DETECTORS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "faster_rcnn": (small_faster_rcnn, [MULTI]),
    "mask_rcnn": (small_mask_rcnn, [MULTI]),
    "keypoint_rcnn": (small_keypoint_rcnn, [MULTI]),
    "retina_net": (lambda: small_detector("retina_net"), []),
    "fcos": (lambda: small_detector("fcos"), []),
    "ssd": (lambda: small_detector("ssd"), ["torch.tensor"]),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "faster_rcnn")) for name in DETECTORS]
)
def test_whole_detectors_of_a_list_of_images(name: str) -> None:
    """model([image], None), as torchvision documents it: its own dictionaries come out, as torch alone exports them."""
    build, acted = DETECTORS[name]

    def detections(detector: Any, image: Tensor) -> Any:
        (result,) = detector([image], None)
        return [result[key] for key in ("boxes", "scores", "labels")]

    model, images = Own(detections, build()), [[randoms(3, 64, 96, seed=seed)] for seed in (1, 2)]
    check("torchscript", model, *images, acted=acted, atol=5e-3)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_export_onnx_of_parts(exporter: str, tmp_path: Path) -> None:
    """The same through export_onnx, which checks the graph, too."""

    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Conv2d(3, CHANNELS, 3, stride=stride, padding=1) for stride in STRIDES)
            self.pool = MultiScaleRoIAlign(list(LEVELS), 3, 2, canonical_scale=32)

        def forward(self, images: Tensor) -> Tensor:
            features = OrderedDict(zip(LEVELS, (layer(images) for layer in self.layers), strict=True))
            boxes = [images.flatten()[16 * index : 16 * index + 16].reshape(4, 4) * SIDE for index in range(2)]
            pooled: Tensor = self.pool(features, boxes, [(SIDE, SIDE)] * 2)
            return pooled

    target = fixed_target(SIDE, SIDE, batch=AxisRange.fixed(2), exporter=exporter)
    specs = [TensorSpec("pooled", "float32", (8, CHANNELS, 3, 3))]
    model = Pooled().eval()
    example = {"images": randoms(2, 3, SIDE, SIDE, seed=1)}
    record = export_onnx(model, target, tmp_path / "m.onnx", example=example, output_specs=specs)
    assert MULTI in {fired.name for fired in record.rewriters}


@pytest.mark.parametrize("which", ["heatmaps_to_keypoints", "paste_masks_in_image"])
def test_functions_that_torchvision_traces_otherwise(which: str) -> None:
    """They loop over boxes by scripted code while they are traced."""

    def keypoints(maps: Tensor, boxes: Tensor) -> Any:
        return heatmaps_to_keypoints(maps, boxes)[0]

    def masks(maps: Tensor, boxes: Tensor) -> Any:
        return paste_masks_in_image(maps, boxes, (torch.tensor(40), torch.tensor(50)))

    compute = keypoints if which == "heatmaps_to_keypoints" else masks
    inputs = [[randoms(6, 1, 14, 14, seed=seed), boxes_of(6, seed, side=40)] for seed in (1, 2)]
    check("torchscript", Own(compute), *inputs, atol=1e-3)


def test_a_part_between_that_does_not_know_the_batch_is_named() -> None:
    """A region proposal network of one's own, in a detector whose batch is one tensor."""

    class OwnProposals(nn.Module):
        def forward(self, images: ImageList, features: Any, targets: Any = None) -> Any:
            return [boxes_of(8, 1) for _ in images.tensors], {}

    model = small_faster_rcnn()
    model.rpn = OwnProposals()
    with (
        rewriting(fixed_target(64, 96), eager=True),
        pytest.raises(ExportError, match="gives a list with an entry for each image.*declare a rewriter for that part"),
    ):
        model(randoms(2, 3, 64, 96, seed=1))


def test_a_failing_replacement_is_named_by_export_onnx(tmp_path: Path) -> None:
    class Misuse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pool = MultiScaleRoIAlign(["0"], 3, 2)

        def forward(self, images: Tensor) -> Tensor:
            pooled: Tensor = self.pool({"0": images}, [images[0, 0]], None)
            return pooled

    target = fixed_target(32, 32, exporter="torchscript", batch=AxisRange.fixed(2))
    specs = [TensorSpec("pooled", "float32", ("R", 3, 3, 3))]
    with pytest.raises(ExportError, match=f"zooport's rewriter {MULTI} fails on a call of this model: TypeError"):
        export_onnx(
            Misuse().eval(),
            target,
            tmp_path / "m.onnx",
            example={"images": randoms(2, 3, 32, 32, seed=1)},
            output_specs=specs,
        )
