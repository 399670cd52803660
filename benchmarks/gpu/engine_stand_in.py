"""What a rehearsal has in the place of an engine on a GPU: the runner, on the stand-ins of the tests."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from torch import Tensor

from backends.tensorrt.runner import TensorRTRunner
from tests.backends.tensorrt.fake_cuda import FakeCuda
from tests.backends.tensorrt.fake_tensorrt import COLUMNS, FakeTensorRT
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec


class AnyStream:
    """A tensor on the CPU that takes the number of a stream, as one on a device does."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None) -> object:
        del stream
        return self.tensor.__dlpack__()


INPUT = TensorSpec("x", "float32", ("N", COLUMNS))
OUTPUTS = (TensorSpec("twice", "float32", ("N", COLUMNS)), TensorSpec("count", "int64", ("N",)))
AXES = {"N": AxisRange(1, 2, 4)}


@contextmanager
def stand_in_engine(backend: str, *, cuda_graph: bool = False) -> Iterator[TensorRTRunner]:
    """twice = 2 x, and the place of each row, in the host's memory."""
    with ExitStack() as held:
        cuda = FakeCuda()
        held.enter_context(patch("backends.tensorrt.cuda.bindings", lambda: cuda))
        held.enter_context(patch("backends.tensorrt.cuda.DLPACK_CUDA", 1))
        held.enter_context(patch("backends.tensorrt.runner.library", lambda _: FakeTensorRT(cuda)))
        held.enter_context(patch("backends.tensorrt.runner.can_run", lambda *_: None))
        plan = Path(held.enter_context(tempfile.TemporaryDirectory())) / "model.engine"
        plan.write_bytes(b"plan")
        yield held.enter_context(TensorRTRunner(plan, [INPUT], OUTPUTS, AXES, backend=backend, cuda_graph=cuda_graph))
