"""One execution context, with every answer of TensorRT checked."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from backends.profiles import Shape
from backends.tensorrt.buffer import Buffer
from backends.tensorrt.dlpack import Memory
from backends.tensorrt.engine_io import EngineIO
from backends.tensorrt.output_allocator import output_allocator
from zoo.errors import ExportError


class Loaded(NamedTuple):
    """An engine that is loaded: what all contexts of it share. `name` is for messages, `log` has TensorRT's reasons."""

    name: str
    trt: ModuleType
    log: Any
    engine: Any
    io: EngineIO

    def refuse(self, what: str, reason: str | None = None) -> NoReturn:
        """Raise ExportError: TensorRT did not do `what`."""
        said = self.log.reason() if reason is None else reason
        raise ExportError(f"{self.name}: TensorRT {self.trt.__version__} did not {what}: {said}")


class Execution:
    """Runs an engine on one stream. For one thread at a time; the device must be current in each call.

    First `prepare`, which tells the outputs' shapes; then `enqueue`.
    """

    def __init__(self, loaded: Loaded, stream: int) -> None:
        self._loaded = loaded
        self._stream = stream
        context = loaded.engine.create_execution_context()
        if context is None:
            loaded.refuse("create an execution context")
        self._context: Any = context
        self._allocators: dict[str, Any] = {}

    def prepare(self, inputs: Mapping[str, Memory]) -> dict[str, Shape | None]:
        """Set shapes and addresses of all inputs. Gives the outputs' shapes, None where they depend on the data.

        Raises InputError where no profile holds the shapes.
        """
        loaded, context = self._loaded, self._context
        profile = loaded.io.profile_for({name: memory.shape for name, memory in inputs.items()})
        if context.active_optimization_profile != profile and not context.set_optimization_profile_async(
            profile, self._stream
        ):
            loaded.refuse(f"switch to profile {profile}")
        for name, memory in inputs.items():
            if not context.set_input_shape(name, memory.shape):
                loaded.refuse(f"take the shape {list(memory.shape)} for input {name}")
            if not context.set_tensor_address(name, memory.address):
                loaded.refuse(f"take the memory of input {name}")
        try:
            missing = context.infer_shapes()
        except RuntimeError as error:  # what the binding makes of a shape inference that fails
            loaded.refuse("infer the shapes", " ".join(str(error).split()))
        if missing:
            loaded.refuse("infer the shapes", f"it lacks {', '.join(missing)}")
        shapes = {name: tuple(context.get_tensor_shape(name)) for name in loaded.io.outputs}
        return {name: None if any(side < 0 for side in shape) else shape for name, shape in shapes.items()}

    def enqueue(
        self, outputs: Mapping[str, Shape | None], memory_of: Callable[[str, Shape], int], grown: Mapping[str, Buffer]
    ) -> dict[str, Shape]:
        """Put the run on the stream. Gives all outputs' shapes.

        `outputs`: what `prepare` gave. `memory_of`: where an output of known shape goes; the others go into their
        buffers `grown`, which grow as TensorRT asks.
        """
        loaded, context = self._loaded, self._context
        for name, shape in outputs.items():
            if shape is None:
                self._allocator(name).begin(grown[name])
            elif not context.set_tensor_address(name, memory_of(name, shape)):
                loaded.refuse(f"take the memory of output {name}")
        if not context.execute_async_v3(self._stream):
            self._raise_allocators_errors()
            loaded.refuse("run")
        self._raise_allocators_errors()
        return {name: self._reported(name) if shape is None else shape for name, shape in outputs.items()}

    def _raise_allocators_errors(self) -> None:
        """They could not be raised inside TensorRT's own code."""
        for allocator in self._allocators.values():
            if allocator.error is not None:
                raise allocator.error

    def _allocator(self, name: str) -> Any:
        if name not in self._allocators:
            allocator = output_allocator(self._loaded.trt)
            if not self._context.set_output_allocator(name, allocator):
                self._loaded.refuse(f"take an allocator for output {name}")
            self._allocators[name] = allocator  # TensorRT does not keep it alive
        return self._allocators[name]

    def _reported(self, name: str) -> Shape:
        shape: Shape | None = self._allocators[name].shape
        if shape is None or any(side < 0 for side in shape):
            self._loaded.refuse(f"give the shape of output {name}", f"it reported {shape}")
        return shape
