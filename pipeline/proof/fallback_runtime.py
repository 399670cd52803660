"""A deployment as far as it can run here: by its own backend, or by what stands in for a proof."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from backends import Deployment, load
from backends.loading import load_graph
from backends.tensorrt.running import can_run
from pipeline.graphs.deployed_graph import deployed_graph
from pipeline.proof.plugin_runner import plugin_deployment
from rewriters.precision.rounded import rounded
from zoo.manifest import ONNX_FILE, Manifest
from zoo.opened_folder import Folder, OpenedFolder, read_whole
from zoo.target import ENGINE_BACKENDS

BY_REFERENCE = (
    "Plugin nodes were run by their reference implementations in numpy, what is before them by ONNX Runtime; no engine "
    "has run this file."
)
BY_ONNXRUNTIME = (
    "No engine has run: {reason}. All figures are of the very same graph, run by ONNX Runtime on the CPU: they say "
    "that the graph is the model, and nothing of what the engine computes."
)
STAND_IN = "run by ONNX Runtime in the engine's place"
IN_FLOATS = " Its int8 was computed in floats, rounded where the graph rounds, so that every CPU gives the same."
ROUNDED = " Every fp16 result was rounded to fp16, which ONNX Runtime's CPU provider by itself does not do."


@dataclass(frozen=True)
class Opened:
    """``note``: what ran in place of the deployment's own backend; None where that ran itself."""

    deployment: Deployment
    note: str | None = None


def open_deployment(folder: Folder, threads: int | None = None) -> Opened:
    """Plugin nodes are run by their reference, engines that cannot run here by ONNX Runtime, all else by `load`.

    ``threads``: as of `load`; plugin nodes have no use for them.
    """
    return read_whole(folder, lambda opened: _open(opened, threads))


def _open(folder: OpenedFolder, threads: int | None) -> Opened:
    manifest = Manifest.read(folder)
    if manifest.output_level == "plugin":
        return Opened(plugin_deployment(folder), BY_REFERENCE)
    if manifest.backend in ENGINE_BACKENDS:
        reason = can_run(manifest.backend, manifest.provider or "cuda:0")
        if reason is not None:
            note = BY_ONNXRUNTIME.format(reason=reason)
            if manifest.precision["stored"] == "fp16":
                return Opened(rounded_deployment(folder, STAND_IN, threads), note + ROUNDED)
            in_floats = IN_FLOATS if manifest.precision["stored"] == "int8" else ""
            return Opened(load_graph(folder, STAND_IN, threads=threads), note + in_floats)
    return Opened(load(folder, threads=threads))


def rounded_deployment(folder: Folder, note: str = "run by ONNX Runtime", threads: int | None = None) -> Deployment:
    """An fp16 deployment as fp16 kernels compute it, by ONNX Runtime on the CPU: see rewriters.precision.rounded.

    `note`: the deployment's, to which the rounding is added.
    """

    def loaded(opened: OpenedFolder) -> Deployment:
        with TemporaryDirectory(prefix="zooport-rounded-") as scratch:
            path = Path(scratch) / ONNX_FILE
            onnx.save(rounded(deployed_graph(opened, Manifest.read_verified(opened))), path)
            return load_graph(opened, f"{note}, every fp16 result rounded to fp16", path, threads)

    return read_whole(folder, loaded)
