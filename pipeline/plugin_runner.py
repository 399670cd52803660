"""Running a file with plugin nodes where their engine is not: ONNX Runtime up to them, numpy from there."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import onnx
from numpy.typing import NDArray

from backends import Deployment
from backends.onnxruntime import OnnxRuntimeRunner
from backends.runner import Runner
from rewriters.export_onnx import tensor_spec
from rewriters.graph_rewriters import rewrite_graph
from rewriters.plugins import plugin_nodes, reference_evaluator
from zoo.manifest import Manifest

Array = NDArray[Any]


class PluginReferenceRunner(Runner):
    """The ONNX file at `path`: what its plugin nodes read is computed by ONNX Runtime, they and the rest by onnx's
    reference evaluator with our implementations in numpy. For proofs; slow.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        super().__init__(manifest.inputs, manifest.outputs, manifest.axes)
        model = onnx.load(path)
        made = {output for node in model.graph.node for output in node.output}
        read = [name for node in plugin_nodes(model) for name in node.input if name in made]
        before, _ = rewrite_graph(model, [{"name": "extract_submodel", "outputs": read}])
        after, _ = rewrite_graph(model, [{"name": "extract_submodel", "inputs": read}])
        self._evaluator = reference_evaluator(after)
        specs = [tensor_spec(value) for value in before.graph.output]
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(before, Path(folder) / "before.onnx")
            self._before = OnnxRuntimeRunner(Path(folder) / "before.onnx", manifest.inputs, specs, manifest.axes)

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        found = self._evaluator.run([spec.name for spec in self.outputs], dict(self._before.run(arrays)))
        return cast("list[Array]", found)

    def _release(self) -> None:
        self._before.close()


def plugin_deployment(folder: Path) -> Deployment:
    """The deployment of level plugin in `folder`, run by the reference."""
    manifest = Manifest.read(folder)
    manifest.verify(folder)
    note = "its plugin nodes run by their references in numpy"
    return Deployment(manifest, PluginReferenceRunner(folder / "model.onnx", manifest), note)
