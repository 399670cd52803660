"""Tensors that stay on the device: order of streams, owners, DLPack, __cuda_array_interface__."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backends.tensorrt.device_array import DeviceArray
from backends.tensorrt.runner import TensorRTRunner
from tests.backends.tensorrt.fake_cuda import FakeCuda
from zoo.errors import InputError

Make = Callable[..., TensorRTRunner]
CALLERS = 77  # a stream's number


def rows(count: int) -> np.ndarray:
    return np.arange(3 * count, dtype=np.float32).reshape(count, 3)


class Interface:
    """A tensor as numba gives it."""

    def __init__(self, array: np.ndarray, **changes: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "strides": None,
            "version": 3,
            "stream": None,
        } | changes


class Lent:
    """A tensor with DLPack's methods; remembers what it was asked."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array = array
        self.device = device
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: Any = None) -> object:
        self.streams.append(stream)
        return self.array.__dlpack__()


@pytest.mark.parametrize("cuda_graph", [False, True])
def test_one_runs_output_is_the_nexts_input(make: Make, cuda: FakeCuda, cuda_graph: bool) -> None:
    runner = make(cuda_graph=cuda_graph)
    once = runner.run_device({"x": rows(2)})["twice"]
    cuda.calls.clear()
    again = runner.run_device({"x": once})["twice"]
    copies = {call[1] for call in cuda.calls if call[0] == "copy"}
    assert copies == ({"DeviceToDevice"} if cuda_graph else set()), "nothing goes through the host"
    np.testing.assert_array_equal(again.numpy(), 4 * rows(2))
    np.testing.assert_array_equal(once.numpy(), 2 * rows(2))


def test_the_producer_is_given_our_stream_and_no_default_one_is_used(make: Make, cuda: FakeCuda) -> None:
    given = Lent(rows(2))
    runner = make()
    runner.run_device({"x": given})
    assert given.streams == [runner._idle[0].stream]
    assert given.streams[0] in cuda.streams


def test_an_explicit_stream_is_ordered_before_and_after(make: Make, cuda: FakeCuda) -> None:
    runner = make()
    runner.run_device({"x": Lent(rows(2))}, stream=CALLERS)
    ours = runner._idle[0].stream
    order = [call for call in cuda.calls if call[0] in ("record", "wait")]
    assert order[0][0] == "record"
    assert order[0][2] == CALLERS
    assert order[1] == ("wait", ours, order[0][1])
    assert order[-2][0] == "record"
    assert order[-2][2] == ours
    assert order[-1] == ("wait", CALLERS, order[-2][1])
    assert not any(call[0].startswith("synchronize") for call in cuda.calls), "the host waits for nothing"


def test_the_stream_of_a_cuda_array_interface_is_waited_for(make: Make, cuda: FakeCuda) -> None:
    runner = make()
    outputs = runner.run_device({"x": Interface(rows(2), stream=CALLERS)})
    assert next(call[2] for call in cuda.calls if call[0] == "record") == CALLERS
    np.testing.assert_array_equal(outputs["twice"].numpy(), 2 * rows(2))
    strided = Interface(rows(2), strides=(24, 8))
    with pytest.raises(InputError, match='"x": the tensor is not C-contiguous'):
        runner.run_device({"x": strided})
    runner.run_device({"x": Interface(rows(2), strides=(12, 4))})
    runner.run_device({"x": Interface(rows(1), strides=(999, 4))})  # of an axis of one


def test_inputs_live_until_the_work_is_done(make: Make, cuda: FakeCuda) -> None:
    runner = make()
    array = rows(2)
    alive = weakref.ref(array)
    given = Lent(array)
    runner.run_device({"x": given})
    event = runner._idle[0]._kept[0][0]
    cuda.pending.add(event)
    del array, given
    runner.run_device({"x": rows(1)})
    assert alive() is not None, "the work that reads it is still under way"
    cuda.pending.clear()
    runner.run_device({"x": rows(1)})
    assert alive() is None


def test_staged_memory_is_not_overwritten_while_it_is_read(make: Make, cuda: FakeCuda) -> None:
    runner = make()
    runner.run_device({"x": rows(2)})
    cuda.calls.clear()
    runner.run_device({"x": rows(2)})
    assert [call[0] for call in cuda.calls[:2]] == ["synchronize", "copy"]


def test_tensors_of_another_device(make: Make) -> None:
    runner = make()
    with pytest.raises(InputError, match=r"it is on DLPack's device \(8, 0\), and the engine on cuda:0; move it there"):
        runner.run_device({"x": Lent(rows(2), (8, 0))})
    with pytest.raises(InputError, match='"x": it is on cuda:3, and the engine on cuda:0'):
        runner.run_device({"x": Lent(rows(2), (2, 3))})


def test_torchs_tensors_of_the_host(make: Make) -> None:
    torch = pytest.importorskip("torch")
    runner = make(device="cuda:1")  # DLPack's device of the stand-in is then not the host's
    outputs = runner.run_device({"x": torch.from_numpy(rows(2))})
    np.testing.assert_array_equal(outputs["twice"].numpy(), 2 * rows(2))
    with pytest.raises(InputError, match="Tensor gives no tensor: Can't export tensors that require gradient"):
        runner.run_device({"x": torch.ones(2, 3, requires_grad=True)})


class TestDeviceArray:
    @pytest.fixture
    def array(self, make: Make) -> DeviceArray:
        return make().run_device({"x": rows(2)})["twice"]

    def test_others_take_it_where_it_lies(self, array: DeviceArray, cuda: FakeCuda) -> None:
        torch = pytest.importorskip("torch")
        for other in (np.from_dlpack(array), torch.from_dlpack(array).numpy()):
            assert other.ctypes.data == array._buffer.address
            np.testing.assert_array_equal(other, 2 * rows(2))

    def test_it_lives_as_long_as_what_was_made_of_it(self, make: Make, cuda: FakeCuda) -> None:
        runner = make()
        taken = np.from_dlpack(runner.run_device({"x": rows(2)})["twice"])
        runner.close()
        np.testing.assert_array_equal(taken, 2 * rows(2))
        assert cuda.held == 2
        del taken
        assert cuda.held == 0

    def test_a_capsule_that_nobody_takes(self, make: Make, cuda: FakeCuda) -> None:
        runner = make()
        array = runner.run_device({"x": rows(2)})["twice"]
        capsule = array.__dlpack__()
        del array
        runner.close()
        assert cuda.held == 2
        del capsule
        assert cuda.held == 0

    @pytest.mark.parametrize(("stream", "waits"), [(None, [1]), (1, [1]), (CALLERS, [CALLERS]), (-1, [])])
    def test_the_consumers_stream_waits(
        self, array: DeviceArray, cuda: FakeCuda, stream: int | None, waits: list[int]
    ) -> None:
        cuda.calls.clear()
        array.__dlpack__(stream=stream, max_version=(1, 1), copy=False, dl_device=(1, 0))
        assert [call[1] for call in cuda.calls if call[0] == "wait"] == waits

    def test_what_it_does_not_do(self, array: DeviceArray) -> None:
        with pytest.raises(BufferError, match="stream 0 is ambiguous"):
            array.__dlpack__(stream=0)
        with pytest.raises(BufferError, match="gives itself only"):
            array.__dlpack__(copy=True)
        with pytest.raises(BufferError, match="on no other device"):
            array.__dlpack__(dl_device=(2, 0))

    def test_the_cuda_array_interface(self, array: DeviceArray, cuda: FakeCuda) -> None:
        cuda.calls.clear()
        described = array.__cuda_array_interface__
        assert [call[0] for call in cuda.calls] == ["synchronize event"]
        assert described == {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (array._buffer.address, False),
            "version": 3,
            "stream": None,
        }
        assert repr(array) == "<DeviceArray float32 [2, 3] on cuda:0>"
