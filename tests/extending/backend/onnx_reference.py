"""A backend of one's own: onnx's reference implementation of each operator, in numpy. Slow, and easy to read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from backends import Backend, Runner, register
from zoo.errors import ExportError, InputError
from zoo.options import Options, option

if TYPE_CHECKING:
    from backends.backend import LoadOptions
    from zoo.manifest import Manifest
    from zoo.opened_folder import OpenedFolder


@dataclass(frozen=True)
class ReferenceOptions(Options):
    """What `--engine` and a config's `export.engine` may say. A field's type is how the flag is read."""

    WHAT: ClassVar = "option of onnx's reference"

    only_finite: bool = option(default=False, what="an output with nan or inf is an error")

    def __post_init__(self) -> None:
        if not isinstance(self.only_finite, bool):
            raise InputError(f"option only_finite is {self.only_finite!r}, expected True or False")


class ReferenceRunner(Runner):
    """Runs an ONNX file's bytes."""

    def __init__(
        self, content: bytes, options: Any, *tensors: Any, defaults: Mapping[str, float] | None = None
    ) -> None:
        from onnx import load_model_from_string
        from onnx.reference import ReferenceEvaluator

        super().__init__(*tensors, defaults=defaults)
        self._evaluator = ReferenceEvaluator(load_model_from_string(content))
        self.only_finite = options.only_finite

    def _run(self, arrays: Mapping[str, Any]) -> Sequence[Any]:
        try:
            outputs: list[Any] = self._evaluator.run([spec.name for spec in self.outputs], dict(arrays))
        except (NotImplementedError, RuntimeError) as error:
            raise ExportError(f"onnx's reference does not run the graph: {error}") from error
        if self.only_finite and not all(np.isfinite(output).all() for output in outputs):
            raise ExportError("onnx's reference gives an output that is not finite; give --engine only_finite=false")
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
    options = ReferenceOptions

    def open(self, folder: "OpenedFolder", manifest: "Manifest", options: "LoadOptions") -> Runner:
        """Of a deployment. file_tensors: those of one window where the host cuts windows."""
        from backends.file_tensors import file_tensors
        from zoo.manifest import ONNX_FILE

        self.check_device(options.provider or "cpu")
        content, own = folder.file(ONNX_FILE).read(), ReferenceOptions.from_dict(manifest.engine)
        return ReferenceRunner(content, own, *file_tensors(manifest), defaults=manifest.defaults)

    def open_graph(
        self, path: Path, inputs: Any = None, outputs: Any = None, axes: Any = None, target: Any = None
    ) -> Runner:
        """Of a bare file, for alignment."""
        own = ReferenceOptions() if target is None else target.engine
        return ReferenceRunner(path.read_bytes(), own, inputs, outputs, axes)


register(OnnxReference())
