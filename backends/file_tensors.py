"""The tensors of a deployment's file, which is the model of a whole image or of one window."""

from collections.abc import Mapping
from typing import NamedTuple

from backends.runner import Runner
from backends.slide_runner import LOGITS, SlideRunner
from zoo.input_specs import IMAGES
from zoo.manifest import Manifest
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
    """Those of the file: the manifest's, or those of one window where the host cuts windows."""
    if manifest.windows is None:
        return FileTensors(manifest.inputs, manifest.outputs, manifest.axes)
    crop = manifest.windows.crop_size
    inputs = (TensorSpec(IMAGES.name, "float32", ("batch", CHANNELS, *crop)),)
    outputs = (TensorSpec(LOGITS, "float32", ("batch", len(manifest.classes), *crop)),)
    return FileTensors(inputs, outputs, {"batch": AxisRange(1, 1, manifest.windows.batch)})


def with_windows(runner: Runner, manifest: Manifest, progress: Progress | None = None) -> Runner:
    """A runner of whole images, where that of the file takes windows."""
    if manifest.windows is None:
        return runner
    windows = manifest.windows
    return SlideRunner(runner, windows, manifest.inputs, manifest.outputs, manifest.axes, progress=progress)
