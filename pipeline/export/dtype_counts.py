"""What the built graph really computes in: counted, never taken from what was asked for."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray

from backends.backend import Built
from backends.registry import get_backend
from rewriters.export_onnx import tensor_spec
from rewriters.precision.report import DTYPES
from zoo.manifest import ONNX_FILE, Manifest
from zoo.target import Target
from zoo.tensor_spec import TensorSpec


def computed_dtypes(
    target: Target, folder: Path, built: Built | None, arrays: Mapping[str, NDArray[Any]]
) -> Mapping[str, int] | None:
    """Kernels or layers of the backend, by dtype; None where it does not count them.

    `arrays`: the file's inputs by name, for one run. Raises NothingComputedError where int8 was asked for and
    the backend computes nothing in it.
    """
    path = folder / ONNX_FILE
    return get_backend(target.backend).computed(path, _fitting(path, arrays), target, built)


def computed_as_stored(manifest: Manifest) -> bool:
    """Whether all layers that the file has in a lower precision are computed in it."""
    return bool(manifest.precision["computed"] == manifest.precision["stored"])


def fallback(manifest: Manifest) -> Iterator[str]:
    """A note, where some of them are not."""
    precision = manifest.precision
    if "nodes" not in precision or computed_as_stored(manifest):
        return
    dtype, nodes = DTYPES[precision["stored"]], precision["nodes"]
    yield (
        f"Of {nodes['stored'].get(dtype, 0)} layers that the file has in {precision['stored']}, {manifest.backend} "
        f"computes {nodes['computed'].get(dtype, 0)} in it, and the others in fp32."
    )


def _fitting(path: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays as the file takes them: in its dtypes, and of the size of one window where it is the model of one."""
    specs = [tensor_spec(value) for value in onnx.load(path).graph.input]
    return {spec.name: _cut(arrays[spec.name], spec).astype(spec.dtype) for spec in specs if spec.name in arrays}


def _cut(array: NDArray[Any], spec: TensorSpec) -> NDArray[Any]:
    """To the sizes of a file's input that are fixed."""
    return array[tuple(slice(side if isinstance(side, int) else None) for side in spec.shape)]
