"""An ONNX Runtime session that reads and writes tensors of torch where they are, by DLPack."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnxruntime as ort
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from backends.onnxruntime.providers import provider_options
from backends.onnxruntime.session import session_options


class BoundSession:
    """A session on `device`. `graph`: the provider records the work of the first run as a CUDA graph, and repeats it.

    `stream`: the number of a CUDA stream on which it works. The inputs, and with `graph` the outputs, stay where they
    are: a graph knows addresses only.
    """

    def __init__(self, path: Path, device: str, *, graph: bool = False, stream: int | None = None) -> None:
        name, options = provider_options(device)
        on_device = device != "cpu"
        options |= {"enable_cuda_graph": "1"} if graph and on_device else {}
        options |= {"user_compute_stream": str(stream)} if stream is not None and on_device else {}
        self.device = device.partition(":")[0]
        settings = session_options(lean=not on_device)
        self.session = ort.InferenceSession(path, settings, providers=[name], provider_options=[options])
        self.names = [output.name for output in self.session.get_outputs()]

    def bind(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor] | None = None) -> Any:
        """A binding of the inputs, and of the outputs; without these the session makes new ones in each run.

        Raises AssertionError where an input was copied.
        """
        binding = self.session.io_binding()
        for name, tensor in inputs.items():
            value = ort.OrtValue.from_dlpack(tensor)
            if value.data_ptr() != tensor.data_ptr():
                raise AssertionError(f"the input {name} was copied")
            binding.bind_ortvalue_input(name, value)
        for name in self.names:
            if outputs is None:
                binding.bind_output(name, self.device)
            else:
                binding.bind_ortvalue_output(name, ort.OrtValue.from_dlpack(outputs[name]))
        return binding

    def run(self, binding: Any) -> list[Tensor]:
        """The outputs, as tensors over the session's own memory."""
        self.session.run_with_iobinding(binding)
        return tensors_of(binding.get_outputs())


def tensors_of(values: Sequence[Any]) -> list[Tensor]:
    """Values of ONNX Runtime as tensors of torch. Raises AssertionError where one was copied."""
    tensors = [from_dlpack(value._get_c_value()) for value in values]  # noqa: SLF001 - it alone speaks DLPack
    for value, tensor in zip(values, tensors, strict=True):
        if value.data_ptr() != tensor.data_ptr():
            raise AssertionError("an output was copied")
    return tensors
