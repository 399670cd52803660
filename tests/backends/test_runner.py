"""What a runner says about its inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from backends import Runner
from zoo.errors import InputError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

IMAGES = TensorSpec("images", "float32", ("N", 3, 32, "W"))
SIZES = TensorSpec("image_sizes", "int64", ("N", 2))


class Echo(Runner):
    """Gives its first input back."""

    def _run(self, arrays: Mapping[str, Any]) -> Sequence[Any]:
        self.seen = arrays
        return [next(iter(arrays.values())).copy()]

    def _release(self) -> None: ...


@pytest.fixture
def runner() -> Echo:
    return Echo([IMAGES, SIZES], [TensorSpec("echo", "float32", ("N", 3, 32, "W"))], {"N": AxisRange(1, 2, 4)})


def arrays(batch: int = 2, width: int = 40) -> dict[str, Any]:
    return {"images": np.zeros((batch, 3, 32, width), np.float32), "image_sizes": np.ones((batch, 2), np.int64)}


def test_good_inputs_pass_uncopied_and_in_order(runner: Echo) -> None:
    given = arrays()
    assert list(runner.run(dict(reversed(given.items())))) == ["echo"]
    assert list(runner.seen) == ["images", "image_sizes"]
    assert runner.seen["images"] is given["images"]
    assert runner.run(arrays(4, 7777))["echo"].shape == (4, 3, 32, 7777), "an axis without bounds takes any size"


def test_inputs_that_are_not_contiguous_are_copied(runner: Echo) -> None:
    given = arrays()
    given["images"] = np.random.default_rng(0).random((2, 32, 40, 3), np.float32).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(runner.run(given)["echo"], given["images"])
    assert runner.seen["images"].flags.c_contiguous


def test_a_scalar_stays_one() -> None:
    spec = TensorSpec("scale", "float32", ())
    assert Echo([spec], [spec]).run({"scale": np.array(2, np.float32)})["scale"].shape == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"image": np.zeros(1)}, 'unknown input "image"; nearest: "image_sizes", "images"|unknown input "image"'),
        ({"images": None}, r'input "images": got NoneType, expected a numpy array: images float32 \[N, 3, 32, W\]'),
        ({"images": np.zeros((2, 3, 32, 40))}, r'"images": got dtype float64, expected float32; .*astype\("float32"\)'),
        ({"images": np.zeros((2, 3, 32, 40), ">f4")}, 'input "images": got dtype >f4, expected float32'),
        ({"images": np.zeros((3, 32, 40), np.float32)}, r"got shape \[3, 32, 40\], expected \[N, 3, 32, W\]"),
        ({"images": np.zeros((2, 4, 32, 40), np.float32)}, r"got shape \[2, 4, 32, 40\], .*axis 1 must be 3"),
        ({"images": np.zeros((5, 3, 32, 40), np.float32)}, r"axis N must be 1 to 4: split or .*--dynamic"),
        ({"images": np.zeros((0, 3, 32, 40), np.float32)}, "axis N must be 1 to 4"),
        ({"images": np.zeros((2, 3, 32, 0), np.float32)}, "axis W must be 1 or more"),
        ({"image_sizes": np.ones((3, 2), np.int64)}, 'axis N is 2 in input "images" and must be the same here'),
        (
            {"image_sizes": np.ones((2, 2), np.int32)},
            r'"image_sizes": got dtype int32, expected int64; .*astype\("int64"\)',
        ),
        ({"image_sizes": np.ones((2, 2))}, '"image_sizes": got dtype float64, expected int64'),
        ({"image_sizes": np.ones((2, 3), np.int64)}, r"got shape \[2, 3\], expected \[N, 2\]; axis 1 must be 2"),
        ({"image_sizes": np.ones(2, np.int64)}, r"got shape \[2\], expected \[N, 2\]"),
    ],
)
def test_bad_inputs_are_explained(runner: Echo, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        runner.run(arrays() | changes)


@pytest.mark.parametrize("size", [[33, 1], [1, 41], [40, 32], [0, 1], [1, 0], [-1, 1], [2**40, 1]])
def test_a_valid_region_lies_inside_its_tensor(runner: Echo, size: list[int]) -> None:
    given = arrays()
    given["image_sizes"][1] = size
    with pytest.raises(InputError) as caught:
        runner.run(given)
    assert f'"image_sizes": got {size} for image 1, expected (height, width) from 1 to [32, 40]' in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_valid_region_may_be_all_of_its_tensor_or_one_pixel(runner: Echo) -> None:
    for size in ([32, 40], [1, 1]):
        given = arrays()
        given["image_sizes"][:] = size
        runner.run(given)
        assert runner.seen["image_sizes"].tolist() == [size] * 2


def test_missing_inputs_are_named(runner: Echo) -> None:
    with pytest.raises(InputError, match=r'no input "image_sizes"; give images float32 .*, image_sizes int64 \[N, 2\]'):
        runner.run({"images": arrays()["images"]})


def test_bounds_cannot_be_changed_afterwards(runner: Echo) -> None:
    with pytest.raises(TypeError):
        runner.axes["N"] = AxisRange(1, 1, 99)  # type: ignore[index]
