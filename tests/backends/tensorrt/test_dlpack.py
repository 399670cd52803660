"""DLPack's capsules against numpy's and torch's."""

import weakref
from typing import Any

import numpy as np
import pytest

from backends.tensorrt import dlpack
from zoo.errors import InputError

CPU = (1, 0)
DTYPES = ("float32", "float16", "float64", "int8", "int32", "int64", "uint8", "bool")


class Given:
    """Something with a capsule of ours."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, **_: Any) -> object:
        return dlpack.capsule(dlpack.of_array(self.array), CPU)


def values(dtype: str) -> np.ndarray:
    return np.arange(24).reshape(2, 3, 4).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_and_torch_take_ours(dtype: str) -> None:
    array = values(dtype)
    taken = np.from_dlpack(Given(array))
    np.testing.assert_array_equal(taken, array)
    assert taken.dtype == array.dtype
    assert np.shares_memory(taken, array)
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(torch.from_dlpack(Given(array)).numpy(), array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ours_takes_numpys_and_torchs(dtype: str) -> None:
    array = values(dtype)
    torch = pytest.importorskip("torch")
    for given in (array, torch.from_numpy(array)):
        memory = dlpack.read(given.__dlpack__(), "x")
        assert (memory.address, memory.shape, memory.dtype) == (array.ctypes.data, array.shape, array.dtype)
        assert memory.size == array.nbytes


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (1, 5, 1)])
def test_shapes_at_the_edge(shape: tuple[int, ...]) -> None:
    array = np.ones(shape, np.float32)
    assert np.from_dlpack(Given(array)).shape == shape
    assert dlpack.read(array.__dlpack__(), "x").shape == shape


def test_the_owner_lives_until_the_consumer_is_done() -> None:
    array = values("float32")
    alive = weakref.ref(array)
    capsule = array.__dlpack__()
    memory = dlpack.read(capsule, "x")
    del array, capsule
    assert alive() is not None
    del memory
    assert alive() is None


def test_a_capsule_is_used_once() -> None:
    capsule = values("int8").__dlpack__()
    dlpack.read(capsule, "x")
    with pytest.raises(ValueError, match="incorrect name"):
        dlpack.read(capsule, "x")


def test_a_view_begins_where_it_begins() -> None:
    array = values("int32")
    assert dlpack.read(array[1].__dlpack__(), "x").address == array[1].ctypes.data


def test_tensors_that_are_not_contiguous() -> None:
    with pytest.raises(InputError, match=r'input "x": the tensor is not C-contiguous; give a contiguous one'):
        dlpack.read(values("float32").transpose(0, 2, 1).__dlpack__(), "x")
    one = np.ones((1, 4), np.float32)[:, ::4]  # strides of sides of one say nothing
    assert dlpack.read(one.__dlpack__(), "x").shape == (1, 1)


def test_types_that_numpy_has_not() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(
        InputError, match='input "x": got a tensor of DLPack\'s type 4, 16 bits, which numpy does not have'
    ):
        dlpack.read(torch.ones(2, dtype=torch.bfloat16).__dlpack__(), "x")


def test_a_refused_tensor_is_given_back() -> None:
    array = values("complex64")
    alive = weakref.ref(array)
    capsule = array.__dlpack__()
    with pytest.raises(InputError, match="DLPack's type 5"):
        dlpack.read(capsule, "x")
    del array, capsule
    assert alive() is None
