"""A backend of one's own: onnx's reference implementation of each operator, in numpy. Slow, and easy to read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backends import Backend, Runner, register
from zoo.errors import ExportError

if TYPE_CHECKING:
    from backends.backend import LoadOptions
    from zoo.manifest import Manifest
    from zoo.opened_folder import OpenedFolder


class ReferenceRunner(Runner):
    """Runs an ONNX file's bytes."""

    def __init__(self, content: bytes, *tensors: Any, defaults: Mapping[str, float] | None = None) -> None:
        from onnx import load_model_from_string
        from onnx.reference import ReferenceEvaluator

        super().__init__(*tensors, defaults=defaults)
        self._evaluator = ReferenceEvaluator(load_model_from_string(content))

    def _run(self, arrays: Mapping[str, Any]) -> Sequence[Any]:
        try:
            outputs: list[Any] = self._evaluator.run([spec.name for spec in self.outputs], dict(arrays))
        except (NotImplementedError, RuntimeError) as error:
            raise ExportError(f"onnx's reference does not run the graph: {error}") from error
        return outputs

    def _release(self) -> None:
        del self._evaluator


class OnnxReference(Backend):
    """Imports onnx when it runs something, not before."""

    name = "onnx-reference"
    title = "onnx's reference"
    library = "onnx"
    install = "pip install onnx"
    distributions = ("onnx",)

    def open(self, folder: "OpenedFolder", manifest: "Manifest", options: "LoadOptions") -> Runner:
        """Of a deployment. file_tensors: those of one window where the host cuts windows."""
        from backends.file_tensors import file_tensors
        from zoo.manifest import ONNX_FILE

        self.check_device(options.provider or "cpu")
        content = folder.file(ONNX_FILE).read()
        return ReferenceRunner(content, *file_tensors(manifest), defaults=manifest.defaults)

    def open_graph(self, path: Path, *tensors: Any) -> Runner:
        """Of a bare file, for alignment: its inputs, outputs and axes, and the target."""
        return ReferenceRunner(path.read_bytes(), *tensors[:3])


register(OnnxReference())
