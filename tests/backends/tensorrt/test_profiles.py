"""Ranges of shapes, from the specs and the bounds of the axes."""

from collections.abc import Sequence

import pytest

from backends.profiles import profiles
from zoo.errors import InputError
from zoo.input_specs import IMAGE_SIZES, IMAGES, SCORE_THRESHOLD
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

AXES = {"batch": AxisRange(1, 2, 8), "height": AxisRange(32, 64, 128), "width": AxisRange.fixed(96)}


def test_the_first_is_the_whole_range() -> None:
    (whole,) = profiles((IMAGES, IMAGE_SIZES, SCORE_THRESHOLD), AXES)
    assert whole == {
        "images": ((1, 3, 32, 96), (2, 3, 64, 96), (8, 3, 128, 96)),
        "image_sizes": ((1, 2), (2, 2), (8, 2)),
        "score_threshold": ((1,), (1,), (1,)),
    }


def test_one_more_for_each_batch_once() -> None:
    found = profiles((IMAGES, IMAGE_SIZES), AXES, (4, 1, 4))
    assert len(found) == 3
    assert found[1] == {
        "images": ((4, 3, 32, 96), (4, 3, 64, 96), (4, 3, 128, 96)),
        "image_sizes": ((4, 2), (4, 2), (4, 2)),
    }
    assert found[2]["image_sizes"] == ((1, 2),) * 3


@pytest.mark.parametrize(
    ("shape", "batches", "message"),
    [
        (
            ("batch", 3, 4, 4),
            (9,),
            "batches: got 9, expected 1 to 8, the graph's range; give --dynamic batch=MIN:OPT:MAX",
        ),
        ((2, 3, 4, 4), (2,), "batches: got 2, but the graph's batch is fixed; leave the option out"),
        (("batch", 3, "depth", 4), (), 'input "images": axis "depth" has no bounds; give its min:opt:max'),
    ],
)
def test_what_does_not_fit_is_refused(shape: tuple[int | str, ...], batches: Sequence[int], message: str) -> None:
    with pytest.raises(InputError) as raised:
        profiles([TensorSpec("images", "float32", shape)], AXES, batches)
    assert message in str(raised.value)
