"""Restored images: the worst value and the PSNR between the two, as floats of a graph and as bytes of a result."""

import numpy as np
import pytest

from pipeline.export.scales import at_other_scales
from pipeline.parity.gates import GRAPH
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.levels import compare_outputs
from tests.small_tasks import small_task
from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import InputError
from zoo.models.restoration import SRCNN, AnyScaleSRCNN
from zoo.preprocess import Preprocess
from zoo.tasks.super_resolution import SuperResolution
from zoo.tasks.super_resolution.proof.restored_images import compare_restored

IMAGE = np.random.default_rng(0).integers(1, 255, (50, 40, 3), dtype=np.uint8)
FLOATS = IMAGE[None].transpose(0, 3, 1, 2).astype(np.float32) / 255


def bytes_compared(candidate: np.ndarray) -> Findings:
    return compare_restored(IMAGE, candidate, GRAPH["grey_levels"], GRAPH["psnr"])


def floats_compared(candidate: np.ndarray) -> Findings:
    return compare_outputs(
        small_task("super-resolution"), "final", {"image": FLOATS}, {"image": candidate}, GRAPH, DecisionRule()
    )


def test_equal_images_have_the_least_noise() -> None:
    found = bytes_compared(IMAGE.copy())
    assert not found.failures
    assert [(figure.name, figure.max_error, figure.gate) for figure in found.figures] == [
        ("image", 0.0, 1.0),
        ("noise of image", -200.0, -70.0),
    ]
    assert (found.matched, found.blank) == (IMAGE.size, False)
    assert bytes_compared(IMAGE[:, 1:]).failures


def test_a_few_values_may_be_rounded_the_other_way() -> None:
    candidate = IMAGE.copy()
    candidate[0, :5, 0] += 1
    found = bytes_compared(candidate)
    assert not found.failures
    expected = 10 * np.log10(5 / IMAGE.size / 255**2)
    assert found.figures[1].max_error == pytest.approx(expected)


def test_one_value_two_levels_off_fails() -> None:
    candidate = IMAGE.copy()
    candidate[0, 0, 0] += 2 if candidate[0, 0, 0] < 200 else -2
    assert bytes_compared(candidate).failures == ("image: largest error 2 grey levels, gate 1 grey levels",)


def test_a_shift_of_all_by_one_level_fails() -> None:
    (failure,) = bytes_compared(IMAGE + 1).failures
    assert failure == "noise of image: largest error -48.1 dB, gate -70 dB"


def test_the_floats_of_a_graph() -> None:
    good = floats_compared(FLOATS + np.float32(1e-6))
    assert [figure.name for figure in good.figures] == ["image"]
    assert not good.failures
    assert len(floats_compared(FLOATS + np.float32(1e-2)).failures) == 1
    assert floats_compared(np.full_like(FLOATS, np.nan)).failures
    assert len(floats_compared(FLOATS[..., 1:]).failures) == 1


def test_all_scales_of_the_model_are_tried() -> None:
    images = [np.zeros((1, 3, side, side), np.float32) for side in (32, 40, 41)]
    inputs = [GraphInput(("a",), {"images": array}) for array in images]
    tried = [(case.shape[-1], case.arrays["scale"].tolist()) for case in at_other_scales(AnyScaleSRCNN(), inputs)]
    assert tried == [(32, [2]), (41, [2]), (32, [4]), (41, [4])]
    assert not list(at_other_scales(SRCNN(), inputs))


def test_images_keep_their_own_size() -> None:
    SuperResolution().check_preprocess(Preprocess(None, "keep", size_divisor=1))
    with pytest.raises(InputError, match='preprocess resize "letterbox" with task super-resolution'):
        SuperResolution().check_preprocess(Preprocess((64, 64)))
