"""The runner on stand-ins: numbers, order, threads, memory, and every answer that TensorRT or CUDA can refuse with."""

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.tensorrt.buffer import Buffer
from backends.tensorrt.cuda import Cuda
from backends.tensorrt.runner import TensorRTRunner
from tests.backends.tensorrt.conftest import COUNT, FOUND, TWICE
from tests.backends.tensorrt.fake_cuda import Error, FakeCuda
from tests.backends.tensorrt.fake_tensorrt import FakeTensorRT, Type
from zoo.errors import BackendUnavailableError, ExportError, InputError

Make = Callable[..., TensorRTRunner]


def rows(count: int, first: float = 0) -> np.ndarray:
    return np.arange(3 * count, dtype=np.float32).reshape(count, 3) + np.float32(first)


@pytest.mark.parametrize("cuda_graph", [False, True])
def test_numbers_shapes_and_owners(make: Make, cuda_graph: bool) -> None:
    with make(cuda_graph=cuda_graph) as runner:
        given = rows(2)
        first = runner.run({"x": given})
        given[:] = -1
        second = runner.run({"x": rows(4, 5)})
        third = runner.run({"x": rows(2, 7)})
    np.testing.assert_array_equal(first["twice"], 2 * rows(2))
    np.testing.assert_array_equal(second["twice"], 2 * rows(4, 5))
    np.testing.assert_array_equal(third["twice"], 2 * rows(2, 7))
    assert second["count"].tolist() == [0, 1, 2, 3]
    assert second["count"].dtype == np.int64


def test_outputs_come_in_the_order_that_was_described(make: Make) -> None:
    assert list(make((COUNT, TWICE)).run({"x": rows(1)})) == ["count", "twice"]


def test_arrays_go_through_pinned_memory_which_is_used_again(make: Make, cuda: FakeCuda) -> None:
    runner = make()
    runner.run({"x": rows(3)})
    held = cuda.held
    cuda.calls.clear()
    runner.run({"x": rows(2)})
    assert cuda.held == held, "smaller arrays need nothing new"
    kinds = [call[1] for call in cuda.calls if call[0] == "copy"]
    assert kinds == ["HostToDevice", "DeviceToHost", "DeviceToHost"]
    assert len(cuda.pinned) == 3


class TestInputs:
    def test_a_wrong_shape_has_the_one_message(self, make: Make) -> None:
        runner = make()
        with pytest.raises(
            InputError, match=r'input "x": got shape \[5, 3\], expected \[N, 3\]; axis N must be 1 to 4'
        ):
            runner.run({"x": rows(5)})
        with pytest.raises(
            InputError, match=r'input "x": got shape \[5, 3\], expected \[N, 3\]; axis N must be 1 to 4'
        ):
            runner.run_device({"x": rows(5)})
        with pytest.raises(InputError, match='"x": got dtype float64, expected float32'):
            runner.run_device({"x": rows(2).astype(np.float64)})
        with pytest.raises(InputError, match='unknown input "y"; nearest: "x"'):
            runner.run_device({"y": rows(2)})

    def test_a_shape_that_the_engine_has_no_profile_for(self, make: Make) -> None:
        with pytest.raises(
            InputError, match=r"got x \[5, 3\], the engine takes x \[1, 3\] to \[4, 3\]: split or resize"
        ):
            make(largest=9).run({"x": rows(5)})

    def test_what_is_no_tensor(self, make: Make) -> None:
        with pytest.raises(InputError, match='"x": got list, expected a numpy array, or a tensor with __dlpack__'):
            make().run_device({"x": [[1.0, 2.0, 3.0]]})

    def test_arrays_that_are_not_contiguous_are_copied(self, make: Make) -> None:
        given = np.asfortranarray(rows(3))
        np.testing.assert_array_equal(make().run_device({"x": given})["twice"].numpy(), 2 * given)


class TestProfiles:
    def test_the_narrowest_that_holds_the_shapes(self, make: Make, library: FakeTensorRT) -> None:
        library.profiles = [((1, 3), (2, 3), (4, 3)), ((1, 3), (1, 3), (1, 3)), ((1, 3), (1, 3), (2, 3))]
        runner = make()
        for count in (1, 2, 3, 4, 1):
            runner.run({"x": rows(count)})
        assert library.contexts[0].profile_used == [1, 2, 0, 0, 1]

    def test_of_equals_the_first(self, make: Make, library: FakeTensorRT) -> None:
        library.profiles *= 2
        make().run({"x": rows(1)})
        assert library.contexts[0].profile_used == [0]

    def test_a_switch_that_fails(self, make: Make, library: FakeTensorRT) -> None:
        library.profiles.append(((1, 3), (1, 3), (1, 3)))
        library.fails.add("set_optimization_profile_async")
        with pytest.raises(ExportError, match="did not switch to profile 1: set_optimization_profile_async: no"):
            make().run({"x": rows(1)})

    def test_an_engine_without_dynamic_axes(self, make: Make, library: FakeTensorRT) -> None:
        library.fixed = (2, 3)
        runner = make()
        np.testing.assert_array_equal(runner.run({"x": rows(2)})["twice"], 2 * rows(2))
        with pytest.raises(InputError, match=r"the engine takes x \[2, 3\] to \[2, 3\]"):
            runner.run({"x": rows(1)})


class TestInputsThatDecideShapes:
    def test_tensorrt_reads_them_on_the_host(self, make: Make, library: FakeTensorRT, cuda: FakeCuda) -> None:
        library.on_host.add("x")
        runner = make()
        np.testing.assert_array_equal(runner.run({"x": rows(2)})["twice"], 2 * rows(2))
        assert {call[1] for call in cuda.calls if call[0] == "copy"} == {"DeviceToHost"}
        on_device = runner.run_device({"x": rows(3)})["twice"]
        cuda.calls.clear()
        again = runner.run_device({"x": on_device})["twice"]
        assert [call[0] for call in cuda.calls if call[0] in ("copy", "synchronize")] == ["copy", "synchronize"]
        np.testing.assert_array_equal(again.numpy(), 4 * rows(3))

    def test_they_cannot_be_recorded(self, make: Make, library: FakeTensorRT) -> None:
        library.on_host.add("x")
        with pytest.raises(ExportError, match="shapes depend on the values of x; leave cuda_graph off"):
            make(cuda_graph=True).run({"x": rows(2)})


class TestOutputsWhoseShapeDependsOnTheData:
    @pytest.fixture
    def finding(self, make: Make, library: FakeTensorRT) -> TensorRTRunner:
        library.finds = True
        return make((TWICE, COUNT, FOUND))

    def test_on_the_host_and_on_the_device(self, finding: TensorRTRunner) -> None:
        for first in (-4, -1, -100, 0):  # some, more, none, fewer
            given = rows(3, first)
            np.testing.assert_array_equal(finding.run({"x": given})["found"], given[given > 0])
            np.testing.assert_array_equal(finding.run_device({"x": given})["found"].numpy(), given[given > 0])

    def test_no_element_still_has_memory(self, finding: TensorRTRunner) -> None:
        found = finding.run_device({"x": rows(1, -9)})["found"]
        assert found.shape == (0,)
        assert found._buffer.address

    def test_memory_that_cannot_be_had(self, finding: TensorRTRunner, cuda: FakeCuda, library: FakeTensorRT) -> None:
        library.during = lambda: cuda.fails.update(cudaMalloc=Error.cudaErrorMemoryAllocation)
        with pytest.raises(ExportError, match=r"cuda:0 could not allocate 32 bytes: out of memory \(cudaErrorMemoryA"):
            finding.run({"x": rows(3)})

    def test_they_cannot_be_recorded(self, make: Make, library: FakeTensorRT) -> None:
        library.finds = True
        runner = make((TWICE, FOUND), cuda_graph=True)
        with pytest.raises(ExportError, match="shape of found depends on the data; leave cuda_graph off"):
            runner.run({"x": rows(2)})


class TestGraphs:
    def test_each_set_of_shapes_is_recorded_once(self, make: Make, cuda: FakeCuda, library: FakeTensorRT) -> None:
        runner = make(cuda_graph=True)
        for count in (2, 2, 3, 2, 3):
            np.testing.assert_array_equal(runner.run({"x": rows(count, 1)})["twice"], 2 * rows(count, 1))
        assert [context.runs for context in library.contexts] == [2, 2], "one to warm up and one to record, each"
        assert sum(call[0] == "launch" for call in cuda.calls) == 5

    def test_their_number_is_bounded(self, make: Make, cuda: FakeCuda, library: FakeTensorRT) -> None:
        library.profiles = [((1, 3), (2, 3), (9, 3))]
        runner = make(cuda_graph=True, largest=9)
        for count in (1, 2, 3, 4, 1, 5, 6):  # the last two push out 2 and 3
            runner.run({"x": rows(count)})
        assert len(cuda.graphs) == 4
        assert len(library.contexts) == 6
        runner.run({"x": rows(1)})
        assert len(library.contexts) == 6
        runner.run({"x": rows(2)})
        assert len(library.contexts) == 7

    def test_a_recording_that_fails_leaves_nothing(self, make: Make, cuda: FakeCuda, library: FakeTensorRT) -> None:
        runner = make(cuda_graph=True)
        library.during = lambda: library.fails.add("execute_async_v3") if cuda.capturing else None
        with pytest.raises(ExportError, match=r"model.engine: TensorRT 1.7.1.116 did not run: execute_async_v3: no"):
            runner.run({"x": rows(2)})
        assert not cuda.capturing
        assert not cuda.graphs
        library.fails.clear()
        library.during = lambda: None
        np.testing.assert_array_equal(runner.run({"x": rows(2)})["twice"], 2 * rows(2))


class TestClosing:
    @pytest.mark.parametrize("cuda_graph", [False, True])
    def test_everything_is_given_back(self, make: Make, cuda: FakeCuda, cuda_graph: bool) -> None:
        runner = make(cuda_graph=cuda_graph)
        runner.run({"x": rows(2)})
        outputs = runner.run_device({"x": rows(2)})
        runner.close()
        np.testing.assert_array_equal(outputs["twice"].numpy(), 2 * rows(2), "outputs outlive the runner")
        assert cuda.held == 2 * len(outputs), "the outputs' memory and events"
        del outputs
        assert cuda.held == 0
        runner.close()
        with pytest.raises(InputError, match="the runner is closed; load the deployment again"):
            runner.run({"x": rows(2)})
        with pytest.raises(InputError, match="the runner is closed"):
            runner.run_device({"x": rows(2)})

    def test_while_another_thread_runs(self, make: Make, cuda: FakeCuda, library: FakeTensorRT) -> None:
        runner = make()
        runner.run({"x": rows(1)})
        started, go_on = threading.Event(), threading.Event()
        results: list[Any] = []

        def wait() -> None:
            started.set()
            assert go_on.wait()

        library.during = wait
        thread = threading.Thread(target=lambda: results.append(runner.run({"x": rows(3)})))
        thread.start()
        assert started.wait()
        runner.close()
        go_on.set()
        thread.join()
        np.testing.assert_array_equal(results[0]["twice"], 2 * rows(3))
        assert cuda.held == 0
        assert runner._loaded is None


def test_threads_have_contexts_of_their_own_which_are_used_again(make: Make, library: FakeTensorRT) -> None:
    runner = make()
    both = threading.Barrier(2)
    library.during = both.wait
    results: list[np.ndarray] = []

    def run(first: float) -> None:
        results.extend(runner.run({"x": rows(2, first)})["twice"] - 2 * np.float32(first) for _ in range(3))

    threads = [threading.Thread(target=run, args=(first,)) for first in (10, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(library.contexts) == 2
    assert len(results) == 6
    for result in results:
        np.testing.assert_array_equal(result, 2 * rows(2))


class TestRefusals:
    @pytest.mark.parametrize(
        ("method", "words"),
        [
            ("create_execution_context", "did not create an execution context: out of memory"),
            ("set_input_shape", r"did not take the shape \[2, 3\] for input x: set_input_shape: no"),
            ("set_tensor_address", "did not take the memory of input x: set_tensor_address: no"),
            ("infer_shapes", "did not infer the shapes: shape inference failed$"),
            ("execute_async_v3", "did not run: execute_async_v3: no"),
        ],
    )
    def test_of_tensorrt(self, make: Make, library: FakeTensorRT, cuda: FakeCuda, method: str, words: str) -> None:
        runner = make()
        library.fails.add(method)
        for run in (runner.run, runner.run_device):
            with pytest.raises(ExportError, match=r"model.engine: TensorRT 1.7.1.116 " + words):
                run({"x": rows(2)})
        library.fails.clear()
        np.testing.assert_array_equal(runner.run({"x": rows(2)})["twice"], 2 * rows(2), "the next run is a good one")
        runner.close()
        assert cuda.held == 0

    def test_of_the_work_itself(self, make: Make, cuda: FakeCuda) -> None:
        runner = make()
        cuda.fails["cudaStreamSynchronize"] = Error.cudaErrorIllegalAddress
        with pytest.raises(
            ExportError, match=r"cuda:0 could not finish the work: an illegal memory access \(cudaErrorI"
        ):
            runner.run({"x": rows(2)})

    def test_an_allocator(self, make: Make, library: FakeTensorRT) -> None:
        library.finds = True
        library.fails.add("set_output_allocator")
        with pytest.raises(ExportError, match="did not take an allocator for output found"):
            make((TWICE, FOUND)).run({"x": rows(2)})


class TestLoading:
    def test_a_damaged_plan(self, make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        make()
        (tmp_path / "bad.engine").write_bytes(b"plen")
        words = r"bad.engine: tensorrt-rtx 1.7.1.116 does not load it \(4 bytes\): Magic tag does not match; build it"
        with pytest.raises(ExportError, match=words) as caught:
            TensorRTRunner(tmp_path / "bad.engine", [], [], backend="tensorrt-rtx")
        assert str(caught.value).endswith("zooport deploy CONFIG --backend tensorrt-rtx")
        assert "tensorrt_rtx: a warning" in caplog.text

    def test_no_plan(self, make: Make, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"none.engine: cannot be read \(No such file"):
            TensorRTRunner(tmp_path / "none.engine", [], [], backend="tensorrt-rtx")

    def test_another_engine_than_described(self, make: Make, library: FakeTensorRT) -> None:
        with pytest.raises(
            InputError, match=r"got the outputs twice float32, count int64; expected found float32 \[F\]"
        ):
            make((FOUND,))
        library.types["count"] = Type.BF16
        with pytest.raises(
            InputError, match=r"twice float32, count BF16; expected count int64 \[N\]; the engine is not"
        ):
            make()

    def test_an_input_that_nothing_describes(self, make: Make, tmp_path: Path) -> None:
        make()
        with pytest.raises(InputError, match="needs the input x, which nothing describes"):
            TensorRTRunner(tmp_path / "model.engine", [], [TWICE], backend="tensorrt-rtx")

    def test_code_in_a_plan_is_allowed_only_when_asked(self, make: Make, library: FakeTensorRT) -> None:
        make()
        make(host_code=True)
        assert library.host_code == [False, True]

    @pytest.mark.parametrize("device", ["cpu", "cuda:", "cuda:x", "gpu", "cuda:0:1"])
    def test_devices_that_are_none(self, make: Make, device: str) -> None:
        with pytest.raises(
            InputError, match=f'device "{device}": TensorRT runs on CUDA devices; expected cuda or cuda:N'
        ):
            make(device=device)

    def test_where_it_cannot_run(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("backends.tensorrt.runner.can_run", lambda backend, device: "there is no NVIDIA driver")
        with pytest.raises(
            BackendUnavailableError, match="an engine of tensorrt-rtx cannot run here: there is no NVIDIA"
        ):
            make()


def test_the_callers_device_is_current_again_afterwards(make: Make, cuda: FakeCuda, library: FakeTensorRT) -> None:
    runner = make(device="cuda:1")
    seen: list[int] = []
    library.during = lambda: seen.append(cuda.device)
    runner.run({"x": rows(1)})
    assert seen == [1]
    assert cuda.device == 0


@pytest.mark.parametrize("cuda_graph", [False, True])
def test_a_runner_that_is_dropped_gives_all_back(make: Make, cuda: FakeCuda, cuda_graph: bool) -> None:
    runner = make(cuda_graph=cuda_graph)
    runner.run({"x": rows(2)})
    array = runner.run_device({"x": rows(2)})["twice"]
    assert cuda.streams
    del runner
    gc.collect()
    assert not cuda.streams
    assert not cuda.graphs
    np.testing.assert_array_equal(array.numpy(), 2 * rows(2))
    del array
    gc.collect()
    assert cuda.held == 0


def test_memory_that_cuda_does_not_take_back_is_not_forgotten(cuda: FakeCuda) -> None:
    buffer = Buffer(Cuda(0))
    buffer.reserve(8)
    cuda.fails["cudaFree"] = Error.cudaErrorIllegalAddress
    with pytest.raises(ExportError, match="could not free memory"):
        buffer.free()
    del cuda.fails["cudaFree"]
    buffer.free()
    buffer.free()
    assert cuda.held == 0
