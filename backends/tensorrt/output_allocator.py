"""Memory for outputs whose shape TensorRT knows only once it runs."""

from functools import cache
from types import ModuleType
from typing import Any

from backends.tensorrt.buffer import Buffer


def output_allocator(trt: ModuleType) -> Any:
    """An IOutputAllocator for one output. Set its `buffer` before a run; read `shape` and `error` after it.

    `shape`: of the output, None where TensorRT never reported one. `error`: what went wrong in a call, None for
    nothing; an exception must not pass through TensorRT's own code.
    """
    return _allocator_class(trt)()


@cache
def _allocator_class(trt: ModuleType) -> type[Any]:
    base: type[Any] = trt.IOutputAllocator

    class OutputAllocator(base):  # type: ignore[misc]  # TensorRT's bindings have no types
        def __init__(self) -> None:
            base.__init__(self)  # without it the binding is a null pointer
            self.buffer: Buffer | None = None
            self.shape: tuple[int, ...] | None = None
            self.error: Exception | None = None

        def begin(self, buffer: Buffer) -> None:
            self.buffer, self.shape, self.error = buffer, None, None

        def reallocate_output_async(
            self,
            tensor_name: str,  # noqa: ARG002 - there is one allocator for each
            memory: int,  # noqa: ARG002 - the buffer knows what it has
            size: int,
            alignment: int,  # noqa: ARG002 - CUDA's memory is aligned for all of it
            stream: int,  # noqa: ARG002 - CUDA gives memory back only after all work
        ) -> int:
            if self.buffer is None:  # TensorRT may ask before there is a run: the least it takes
                return 0
            try:
                return self.buffer.reserve(size)
            except Exception as error:  # noqa: BLE001 - raised again once TensorRT has returned
                self.error = error
                return 0

        def notify_shape(self, tensor_name: str, shape: Any) -> None:  # noqa: ARG002
            self.shape = tuple(shape)

    return OutputAllocator
