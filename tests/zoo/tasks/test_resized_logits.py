"""Semantic segmentation whose logits, and not labels, are resized to the image: compared with PyTorch's own resize."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from zoo.errors import InputError
from zoo.input_kinds.image.reference_input import reference_input
from zoo.manifest_schema import schema_errors
from zoo.preprocess import Geometry, Preprocess
from zoo.tasks import build_task
from zoo.tasks.contract import Contract
from zoo.tasks.proof import proof_of
from zoo.tasks.semantic_segmentation.proof.contracts import SegmentationFinal
from zoo.tasks.semantic_segmentation.resized_logits import label_map_of

CLASSES = [{"name": str(index), "category_id": index} for index in range(5)]
LOGITS = {"type": "SemanticSegmentation", "classes": CLASSES, "resize": "logits"}


def random_logits(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("image", [(37, 61), (130, 47), (40, 64), (90, 33)])
def test_as_pytorch_resizes(image: tuple[int, int], corners: bool) -> None:
    logits = random_logits(5, 64, 64)
    geometry = Geometry(image, (40, 64), (64, 64))
    expected = F.interpolate(torch.from_numpy(logits[None, :, :40]), image, mode="bilinear", align_corners=corners)[0]
    labels = label_map_of(logits, geometry, align_corners=corners)
    assert labels.dtype == np.uint8
    wrong = labels != expected.argmax(0).numpy()
    first, second = expected.topk(2, dim=0).values.numpy()
    assert (first - second)[wrong].max(initial=0) < 1e-4
    assert wrong.mean() < 1e-3


def test_of_equal_logits_the_lowest_label() -> None:
    assert (label_map_of(np.zeros((5, 32, 32), np.float32), Geometry((50, 50), (32, 32), (32, 32))) == 0).all()


def test_many_classes() -> None:
    logits = np.zeros((300, 32, 32), np.float32)
    logits[280] = 1
    labels = label_map_of(logits, Geometry((32, 32), (32, 32), (32, 32)))
    assert labels.dtype == np.int32
    assert (labels == 280).all()


def test_the_graph_gives_logits_and_the_manifest_says_so() -> None:
    task = build_task({**LOGITS, "align_corners": True})
    assert [spec.name for spec in task.outputs("final")] == ["logits"]
    assert task.options == {"resize": "logits", "align_corners": True}
    assert build_task({**task.options, "type": task.name, "classes": CLASSES}).options == task.options
    assert build_task({**LOGITS, "resize": "labels"}).options == {}
    images = torch.rand(2, 3, 32, 32)
    model = torch.nn.Conv2d(3, 5, 1)
    contract: Contract = SegmentationFinal.of_task(model, {}, task)
    assert torch.equal(contract(images)[0], model(images))
    assert SegmentationFinal.of_task(model, {}, build_task({**LOGITS, "resize": "labels"}))(images)[0].shape == (
        2,
        32,
        32,
    )


def test_results() -> None:
    logits = random_logits(1, 5, 64, 64)
    (result,) = build_task(LOGITS).results({"logits": logits}, [Geometry((100, 160), (40, 64), (64, 64))])
    assert result.label_map.shape == (100, 160)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"resize": "both"}, "task SemanticSegmentation: resize: got 'both', expected 'labels' or 'logits'"),
        ({"resize": "labels", "align_corners": True}, 'align_corners with resize "labels"; give resize="logits"'),
    ],
)
def test_wrong_options(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        build_task({**LOGITS, **fields})


def test_a_centre_has_no_logits_beside_it() -> None:
    rule = Preprocess((64, 64), "shortest", shortest_edge=80)
    with pytest.raises(InputError, match='resize="logits" with a preprocess that cuts out the centre'):
        build_task(LOGITS).check_preprocess(rule)
    build_task({**LOGITS, "resize": "labels"}).check_preprocess(rule)


def test_a_wrong_way_back_fails_the_comparison() -> None:
    """The nearest label instead of the best of the resized logits: what another resize would give."""
    task = build_task(LOGITS)
    image = np.random.default_rng(1).integers(0, 255, (90, 120, 3)).astype(np.uint8)
    rule = {"size": (48, 64), "resize": "letterbox"}
    placed = reference_input(image, rule)
    torch.manual_seed(0)
    model = torch.nn.Conv2d(3, 5, 5, padding=2).eval()
    proof = proof_of(task)
    with torch.no_grad():
        result, logits = proof.eager_result(model, {}, placed.tensor[0], placed)
        outputs = model(placed.tensor).numpy()
    from zoo.tasks.proof import EagerResult

    expected = EagerResult(placed.tensor.numpy(), result, logits)
    assert logits is not None
    assert logits.shape == (5, 90, 120)
    geometry = Preprocess.from_dict(rule).geometry(90, 120)
    (right,) = task.results({"logits": outputs}, [geometry])
    gates = {"logits": 1e-4}
    assert not proof.compare(expected, placed, right, gates, None).failures
    labels = build_task({**LOGITS, "resize": "labels"})
    (wrong,) = labels.results({"label_map": outputs.argmax(1).astype(np.uint8)}, [geometry])
    assert "pixels relabelled" in proof.compare(expected, placed, wrong, gates, None).failures[0]


def test_a_text_option_fits_the_schema() -> None:
    from zoo.manifest_schema import MANIFEST_SCHEMA

    schema = MANIFEST_SCHEMA["properties"]["task_options"]
    assert not list(schema_errors({"resize": "logits", "align_corners": True, "keep": ["a"]}, schema))
    assert list(schema_errors({"resize": "two\nlines"}, schema))
