"""The tensors of a deployment's file, which may be the model of one window, or take pillars instead of points."""

from collections.abc import Mapping
from typing import NamedTuple

from backends.backend import LoadOptions
from backends.runner import Runner
from backends.slide_runner import LOGITS, SlideRunner
from zoo.input_specs import IMAGES
from zoo.manifest import Manifest
from zoo.pillars import AXIS, Pillars
from zoo.preprocess import CHANNELS
from zoo.progress import Progress
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec


class FileTensors(NamedTuple):
    """Inputs, outputs, and the bounds of the dynamic axes that the inputs' shapes name."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    axes: Mapping[str, AxisRange]


def file_tensors(manifest: Manifest) -> FileTensors:
    """Those of the file: the manifest's where the host has no part in the inference."""
    if manifest.pillars is not None:
        return _of_pillars(manifest, manifest.pillars)
    if manifest.windows is None:
        return FileTensors(manifest.inputs, manifest.outputs, manifest.axes)
    crop = manifest.windows.crop_size
    inputs = (TensorSpec(IMAGES.name, "float32", ("batch", CHANNELS, *crop)),)
    outputs = (TensorSpec(LOGITS, "float32", ("batch", len(manifest.classes), *crop)),)
    return FileTensors(inputs, outputs, {"batch": AxisRange(1, 1, manifest.windows.batch)})


def _of_pillars(manifest: Manifest, pillars: Pillars) -> FileTensors:
    from zoo.input_kinds.points.kind import CELLS, COUNTS, VOXELS  # a deployment of images loads without them

    batch = manifest.inputs[0].shape[0]
    fixed = {"batch": batch, "slots": pillars.slots}
    axes = {axis: bounds for axis, bounds in manifest.axes.items() if axis == batch}
    if pillars.count.dynamic:
        axes[AXIS] = pillars.count
    else:
        fixed[AXIS] = pillars.count.opt
    inputs = (
        spec._replace(shape=tuple(fixed.get(side, side) if isinstance(side, str) else side for side in spec.shape))
        for spec in (VOXELS, COUNTS, CELLS)
    )
    return FileTensors(tuple(inputs), manifest.outputs, axes)


def with_host_part(
    runner: Runner, manifest: Manifest, options: LoadOptions, progress: Progress | None = None
) -> Runner:
    """A runner of what the deployment takes, where that of the file takes windows or pillars."""
    if manifest.pillars is not None:
        from backends.pillar_runner import PillarRunner

        return PillarRunner(runner, manifest.pillars, manifest.inputs, manifest.outputs, manifest.axes)
    if manifest.windows is None:
        return runner
    windows = manifest.windows
    threads = options.call_threads(manifest)
    return SlideRunner(
        runner, windows, manifest.inputs, manifest.outputs, manifest.axes, threads=threads, progress=progress
    )
