"""A deployment as far as it can run here: by its own backend, or by what stands in for a proof."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from backends import Deployment, load
from backends.loading import load_graph
from backends.registry import get_backend
from pipeline.graphs.deployed_graph import deployed_graph
from pipeline.proof.plugin_runner import plugin_deployment
from rewriters.precision.rounded import rounded
from zoo.manifest import ONNX_FILE, Manifest
from zoo.opened_folder import Folder, OpenedFolder, read_whole
from zoo.target import DEFAULT_BACKEND

BY_REFERENCE = (
    "Plugin nodes were run by their reference implementations in numpy, what is before them by ONNX Runtime; no engine "
    "has run this file."
)
BY_STAND_IN = (
    "No engine has run: {reason}. All figures are of the very same graph, run by {title} on the CPU: they show "
    "that the graph is the model, and nothing about what the engine computes."
)
STAND_IN = "run by {title} in the engine's place"
IN_FLOATS = " Its int8 was computed in floats, rounded where the graph rounds, so that every CPU gives the same."
ROUNDED = " Every fp16 result was rounded to fp16, which ONNX Runtime's CPU provider by itself does not do."


@dataclass(frozen=True)
class Opened:
    """``note``: what ran in place of the deployment's own backend; None where that ran itself."""

    deployment: Deployment
    note: str | None = None


def open_deployment(folder: Folder, threads: int | None = None) -> Opened:
    """Plugin nodes are run by their reference, what cannot run here by the default backend, all else by `load`.

    ``threads``: as of `load`; plugin nodes have no use for them.
    """
    return read_whole(folder, lambda opened: _open(opened, threads))


def _open(folder: OpenedFolder, threads: int | None) -> Opened:
    manifest = Manifest.read(folder)
    if manifest.output_level == "plugin":
        return Opened(plugin_deployment(folder), BY_REFERENCE)
    reason = get_backend(manifest.backend).can_run(manifest.provider or "cpu")
    if reason is not None:
        title = get_backend(DEFAULT_BACKEND).title
        note, stand_in = BY_STAND_IN.format(reason=reason, title=title), STAND_IN.format(title=title)
        if manifest.precision["stored"] == "fp16":
            return Opened(rounded_deployment(folder, stand_in, threads), note + ROUNDED)
        in_floats = IN_FLOATS if manifest.precision["stored"] == "int8" else ""
        return Opened(load_graph(folder, stand_in, threads=threads), note + in_floats)
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
