"""A stand-in for tensorrt_rtx's runtime, for what cannot exist on a machine without a GPU: a loaded engine that runs.

Its one engine takes x float32 [N, 3] and gives twice float32 [N, 3] = 2 x, count int64 [N] (the place of each row),
and, where `finds`, found float32 [?], the positive elements of x, whose number only a run knows.
tests/backends/tensorrt/test_binding_names.py compares its names with the real module.
"""

import ctypes
import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from tests.backends.tensorrt.fake_cuda import FakeCuda

COLUMNS = 3
Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class Mode(Enum):
    NONE = 0
    INPUT = 1
    OUTPUT = 2


class Location(Enum):
    DEVICE = 0
    HOST = 1


class Type(Enum):
    FLOAT = 0
    INT64 = 1
    BF16 = 2


class Severity(Enum):
    INTERNAL_ERROR = 0
    ERROR = 1
    WARNING = 2


class ILogger:
    INTERNAL_ERROR, ERROR, WARNING = Severity

    def __init__(self) -> None:
        self.made = True

    def log(self, severity: Severity, msg: str) -> None:
        raise NotImplementedError


class IOutputAllocator:
    def __init__(self) -> None:
        self.made = True


class FakeTensorRT:
    """The module. `fails`: names of methods that answer False or None. `contexts`: all that were made."""

    TensorIOMode = Mode
    TensorLocation = Location
    ILogger = ILogger
    IOutputAllocator = IOutputAllocator
    __version__ = "1.7.1.116"
    __name__ = "tensorrt_rtx"

    def __init__(self, cuda: FakeCuda) -> None:
        self.cuda = cuda
        self.fails: set[str] = set()
        self.contexts: list[Context] = []
        self.finds = False
        self.profiles: list[Shapes] = [((1, COLUMNS), (2, COLUMNS), (4, COLUMNS))]
        self.host_code: list[bool] = []
        self.on_host: set[str] = set()
        self.fixed: tuple[int, ...] | None = None
        self.types: dict[str, Type] = {"x": Type.FLOAT, "twice": Type.FLOAT, "count": Type.INT64}
        self.during: Any = lambda: None

    def Runtime(self, logger: ILogger) -> "Runtime":  # noqa: N802 - the real module's
        return Runtime(self, logger)


class Runtime:
    def __init__(self, library: FakeTensorRT, logger: ILogger) -> None:
        assert logger.made
        self.library = library
        self.logger = logger
        self.engine_host_code_allowed = False

    def deserialize_cuda_engine(self, plan: bytes) -> "Engine | None":
        self.library.host_code.append(self.engine_host_code_allowed)
        if plan != b"plan":
            self.logger.log(Severity.WARNING, "a warning")
            self.logger.log(Severity.ERROR, "Magic tag\n does not match")
            return None
        return Engine(self)


class Engine:
    def __init__(self, runtime: Runtime) -> None:
        self.library = runtime.library
        self.logger = runtime.logger
        self.names = ["x", "twice", "count", *(["found"] if self.library.finds else [])]
        self.num_io_tensors = len(self.names)
        self.num_optimization_profiles = len(self.library.profiles)

    def get_tensor_name(self, index: int) -> str:
        return self.names[index]

    def get_tensor_mode(self, name: str) -> Mode:
        return Mode.INPUT if name == "x" else Mode.OUTPUT

    def get_tensor_location(self, name: str) -> Location:
        return Location.HOST if name in self.library.on_host else Location.DEVICE

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        assert name == "x"
        return self.library.fixed or (-1, COLUMNS)

    def get_tensor_dtype(self, name: str) -> Type:
        return self.library.types.get(name, Type.FLOAT)

    def get_tensor_profile_shape(self, name: str, index: int) -> list[tuple[int, ...]]:
        assert name not in self.library.on_host
        assert not self.library.fixed
        return list(self.library.profiles[index])

    def create_execution_context(self) -> "Context | None":
        if "create_execution_context" in self.library.fails:
            self.logger.log(Severity.ERROR, "out of memory")
            return None
        self.library.contexts.append(Context(self))
        return self.library.contexts[-1]


class Context:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.library = engine.library
        self.active_optimization_profile = 0
        self.shape: tuple[int, ...] = ()
        self.addresses: dict[str, int] = {}
        self.allocators: dict[str, Any] = {}
        self.runs = 0
        self.profile_used: list[int] = []

    def set_optimization_profile_async(self, profile: int, stream: int) -> bool:
        self.active_optimization_profile = profile
        return self._good("set_optimization_profile_async")

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self.shape = shape
        return self._good("set_input_shape")

    def set_tensor_address(self, name: str, address: int) -> bool:
        self.addresses[name] = address
        return bool(address) and self._good("set_tensor_address")

    def set_output_allocator(self, name: str, allocator: IOutputAllocator) -> bool:
        assert allocator.made
        self.allocators[name] = allocator
        return self._good("set_output_allocator")

    def infer_shapes(self) -> Sequence[str]:
        if "infer_shapes" in self.library.fails:
            raise RuntimeError("shape inference\nfailed")
        return []

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return {"x": self.shape, "twice": self.shape, "count": self.shape[:1], "found": (-1,)}[name]

    def execute_async_v3(self, stream: int) -> bool:
        shape = self.shape
        addresses = dict(self.addresses)
        self.runs += 1
        self.profile_used.append(self.active_optimization_profile)
        self.library.during()
        if self.library.finds:
            self._find(stream, array(addresses["x"], shape, np.float32))
        self.library.cuda.work(stream, lambda: _compute(addresses, shape))
        return self._good("execute_async_v3")

    def _find(self, stream: int, x: np.ndarray) -> None:
        found = x[x > 0]
        allocator = self.allocators["found"]
        address = allocator.reallocate_output_async("found", 0, found.nbytes, 256, stream)
        if address:
            array(address, found.shape, np.float32)[...] = found
            allocator.notify_shape("found", found.shape)

    def _good(self, method: str) -> bool:
        if method in self.library.fails:
            message = f"{method}: no"
            self.engine.logger.log(Severity.ERROR, message)
        return method not in self.library.fails


def _compute(addresses: dict[str, int], shape: tuple[int, ...]) -> None:
    array(addresses["twice"], shape, np.float32)[...] = 2 * array(addresses["x"], shape, np.float32)
    array(addresses["count"], shape[:1], np.int64)[...] = np.arange(shape[0])


def array(address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """The memory there, as an array."""
    memory = (ctypes.c_ubyte * max(1, math.prod(shape) * np.dtype(dtype).itemsize)).from_address(address)
    return np.ndarray(shape, dtype, memory)
