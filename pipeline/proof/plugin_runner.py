"""Running a file with plugin nodes where their engine is not: ONNX Runtime up to them, numpy from there."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import onnx
from numpy.typing import NDArray

from backends import Deployment
from backends.registry import get_backend
from backends.runner import Runner
from pipeline.graphs.deployed_graph import deployed_graph
from rewriters.export_onnx import tensor_spec
from rewriters.graph_rewriters import rewrite_graph
from rewriters.plugins import plugin_nodes, reference_evaluator
from zoo.manifest import Manifest
from zoo.opened_folder import OpenedFolder
from zoo.target import DEFAULT_BACKEND

Array = NDArray[Any]


class PluginReferenceRunner(Runner):
    """The graph: what its plugin nodes read is computed by ONNX Runtime, they and the rest by onnx's
    reference evaluator with our implementations in numpy. For proofs; slow.
    """

    def __init__(self, model: onnx.ModelProto, manifest: Manifest) -> None:
        super().__init__(manifest.inputs, manifest.outputs, manifest.axes)
        computed = {output for node in model.graph.node for output in node.output}
        read = [name for node in plugin_nodes(model) for name in node.input if name in computed]
        before, _ = rewrite_graph(model, [{"name": "extract_submodel", "outputs": read}])
        after, _ = rewrite_graph(model, [{"name": "extract_submodel", "inputs": read}])
        self._evaluator = reference_evaluator(after)
        specs = [tensor_spec(value) for value in before.graph.output]
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(before, Path(folder) / "before.onnx")
            path = Path(folder) / "before.onnx"
            self._before = get_backend(DEFAULT_BACKEND).open_graph(path, manifest.inputs, specs, manifest.axes)

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        outputs = self._evaluator.run([spec.name for spec in self.outputs], dict(self._before.run(arrays)))
        return cast("list[Array]", outputs)

    def _release(self) -> None:
        self._before.close()


def plugin_deployment(folder: OpenedFolder) -> Deployment:
    """The deployment of level plugin in `folder`, run by the reference."""
    manifest = Manifest.read_verified(folder)
    note = "its plugin nodes run by their references in numpy"
    return Deployment(manifest, PluginReferenceRunner(deployed_graph(folder, manifest), manifest), note)
