"""The runner of TensorRT's engines."""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from backends.runner import Array, Runner
from backends.tensorrt.cuda import Cuda, device_number
from backends.tensorrt.device_array import DeviceArray
from backends.tensorrt.device_input import taken
from backends.tensorrt.engine_io import EngineIO, agree
from backends.tensorrt.execution import Loaded
from backends.tensorrt.lane import Lane
from backends.tensorrt.library import library
from backends.tensorrt.run_log import run_log
from backends.tensorrt.running import can_run
from zoo.errors import BackendUnavailableError, ExportError, InputError
from zoo.opened_file import OpenedFile, as_opened
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec


class TensorRTRunner(Runner):
    """Runs an engine of `backend`, "tensorrt" or "tensorrt-rtx", on `device` ("cuda:0"). Threads may share it.

    `plan`: its file, by its path or held open.

    Each run has an execution context and a stream to itself: there are as many as threads run at the same time, and
    they are used again. `cuda_graph`: the work of each set of shapes is recorded once and then launched as a whole,
    which saves time where layers are small; a few sets of shapes at most are kept, and each has memory of its own.
    `host_code`: for a version-compatible engine, whose plan carries code that runs on the host: its
    author can run anything here, so load trusted ones only.
    Raises BackendUnavailableError where such an engine cannot run here; InputError where the file is missing or its
    tensors are not those described; ExportError where TensorRT does not load it.
    """

    def __init__(
        self,
        plan: str | os.PathLike[str] | OpenedFile,
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec],
        axes: Mapping[str, AxisRange] | None = None,
        *,
        backend: str,
        defaults: Mapping[str, float] | None = None,
        device: str = "cuda:0",
        cuda_graph: bool = False,
        host_code: bool = False,
    ) -> None:
        number = device_number(device)
        path = plan.path if isinstance(plan, OpenedFile) else Path(plan)
        reason = can_run(backend, device)
        if reason is not None:
            raise BackendUnavailableError(f"{path}: an engine of {backend} cannot run here: {reason}")
        super().__init__(inputs, outputs, axes, defaults)
        self.path = path
        self.backend = backend
        self.device = f"cuda:{number}"
        self._cuda = Cuda(number)
        self._cuda_graph = cuda_graph
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._idle: list[Lane] = []
        self._under_way = 0
        with self._cuda.current():
            self._loaded: Loaded | None = _loaded(plan, backend, host_code=host_code)
        agree("input", self.path, self._loaded.io.inputs, self.inputs)
        agree("output", self.path, self._loaded.io.outputs, self.outputs)

    def run_device(self, tensors: Mapping[str, Any], *, stream: int | None = None) -> dict[str, DeviceArray]:
        """All outputs by name, on the device, for all inputs by name; those with defaults may be left out.

        Inputs: numpy arrays, tensors of torch, CuPy and others with DLPack or __cuda_array_interface__, on the host or
        on this device, C-contiguous. Tensors of the device are not copied. The call returns before the work is done:
        work that fills the inputs may still be under way, and what takes the outputs waits, on the device (see
        DeviceArray). Do not write into the inputs before the outputs are there, unless `stream` is given: the number of
        the CUDA stream that you work on (torch.cuda.current_stream().cuda_stream), whose work so far this run waits
        for, and whose later work waits for this run. Values of image_sizes on the device are not checked.
        Raises InputError as `run` does, and for a tensor on another device.
        """
        self._refuse_closed()
        with self._lane() as lane:
            if stream is not None:
                self._cuda.follow(lane.stream, stream)
            inputs = {
                name: taken(name, tensor, self._cuda, lane.stream)
                for name, tensor in {**self.defaults, **tensors}.items()
            }
            self._check.check_described(inputs)
            arrays = lane.run_device(
                {
                    spec.name: np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
                    for spec in self.inputs
                    for value in (inputs[spec.name],)
                }
            )
            if stream is not None:
                self._cuda.follow(stream, lane.stream)
        return {spec.name: arrays[spec.name] for spec in self.outputs}

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        with self._lane() as lane:
            outputs = lane.run(arrays)
        return [outputs[spec.name] for spec in self.outputs]

    @contextmanager
    def _lane(self) -> Iterator[Lane]:
        """A lane that no other thread has meanwhile, with the device current."""
        with self._lock:
            loaded = self._loaded
            if self._closed or loaded is None:
                raise InputError("the runner is closed; load the deployment again")
            self._under_way += 1
            lane = self._idle.pop() if self._idle else None
        try:
            with self._cuda.current():
                if lane is None:
                    with self._making:  # a thread of its own for each context, but they are made one by one
                        lane = Lane(self._cuda, loaded, cuda_graph=self._cuda_graph)
                yield lane
        finally:
            del loaded
            with self._lock:
                self._under_way -= 1
                if lane is not None:
                    self._idle.append(lane)
            if self._closed:
                self._release()

    def _release(self) -> None:
        """Free the lanes that are idle; the engine, too, once nothing runs."""
        with self._cuda.current():
            with self._lock:
                lanes, self._idle = self._idle, []
                if not self._under_way:
                    self._loaded = None
            while lanes:
                lanes.pop().close()


def _loaded(file: str | os.PathLike[str] | OpenedFile, backend: str, *, host_code: bool) -> Loaded:
    with as_opened(file) as opened:
        plan, path = opened.read(), opened.path
    trt = library(backend)
    log = run_log(trt)
    runtime = trt.Runtime(log)
    if host_code:
        runtime.engine_host_code_allowed = True
    engine = runtime.deserialize_cuda_engine(plan)
    if engine is None:
        raise ExportError(
            f"{path}: {backend} {trt.__version__} does not load it ({len(plan)} bytes): {log.reason()}; build it "
            f"again: zooport deploy CONFIG --backend {backend}"
        )
    return Loaded(str(path), trt, log, engine, EngineIO(engine, trt))
