"""The axes of a deployment's input, as a target has them."""

from zoo.input_kinds import InputKind
from zoo.manifest import Manifest
from zoo.target import AxisRange


def deployment_axes(manifest: Manifest, kind: InputKind) -> dict[str, AxisRange]:
    """The bounds of each axis of the images, or of what else the deployment takes; those of a fixed one are equal."""
    tensor = kind.inputs[0]
    shape = next(spec.shape for spec in manifest.inputs if spec.name == tensor.name)
    sizes = {axis: shape[place] for place, axis in tensor.axes.items()}
    return {
        axis: manifest.axes[size] if isinstance(size, str) else AxisRange.fixed(size) for axis, size in sizes.items()
    }
