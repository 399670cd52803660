"""What the built graph really computes in: counted, never taken from what was asked for."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray

from backends.onnxruntime.computed import computed
from backends.tensorrt.engine_record import EngineRecord
from rewriters.export_onnx import tensor_spec
from rewriters.precision.report import DTYPES
from zoo.errors import ExportError
from zoo.input_specs import IMAGES
from zoo.manifest import ONNX_FILE, Manifest
from zoo.target import Target


class NothingComputedError(ExportError):
    """int8 was asked for, and ONNX Runtime computes nothing in it. The graph itself may be good."""


def computed_dtypes(
    target: Target, folder: Path, engine: EngineRecord | None, arrays: Mapping[str, NDArray[Any]]
) -> Mapping[str, int] | None:
    """Kernels of ONNX Runtime, or layers of the engine, by dtype; None for fp32 on ONNX Runtime.

    `arrays`: the deployment's inputs by name, for one run. Raises NothingComputedError where int8 was asked for and
    ONNX Runtime computes nothing in it. Its CPU provider has few fp16 kernels and computes in fp32 between casts: that
    is recorded, and no error.
    """
    if engine is not None:
        return engine.layers
    if target.precision == "fp32":
        return None
    path = folder / ONNX_FILE
    counts = computed(path, _fitting(path, arrays), target.device)
    if target.precision == "int8" and not counts.get("int8"):
        stays = ", ".join(f"{count} layers in {dtype}" for dtype, count in counts.items())
        raise NothingComputedError(
            f"{path}: precision int8 was asked for, and ONNX Runtime computes nothing in int8 ({stays}): it joins no "
            "layer with the pairs around it, as where an activation reads each number twice (SiLU); deploy it with "
            "--precision fp32, or in int8 for TensorRT"
        )
    return counts


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
    fitting = {spec.name: arrays[spec.name].astype(spec.dtype) for spec in specs if spec.name in arrays}
    sides = next(spec for spec in specs if spec.name == IMAGES.name).shape[2:]
    height, width = (side if isinstance(side, int) else None for side in sides)
    return fitting | {IMAGES.name: fitting[IMAGES.name][..., :height, :width]}
