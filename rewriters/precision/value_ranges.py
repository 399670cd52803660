"""The ranges of a graph's tensors on calibration pictures, found by ONNX Runtime's own calibrators."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, TensorsData
from onnxruntime.quantization.calibrate import EntropyCalibrater, MinMaxCalibrater, PercentileCalibrater

from rewriters.graph_rewriters.cut import cut
from zoo.errors import ExportError

CALIBRATERS: Mapping[str, Any] = {
    "minmax": MinMaxCalibrater,
    "entropy": EntropyCalibrater,
    "percentile": PercentileCalibrater,
}
METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "entropy": CalibrationMethod.Entropy,
    "percentile": CalibrationMethod.Percentile,
}
Feed = Mapping[str, NDArray[Any]]


class _OnePicture(CalibrationDataReader):  # type: ignore[misc]  # the library has no types
    """One feed, so that no more than one picture's tensors are in memory."""

    def __init__(self, feed: Feed) -> None:
        self.left: Iterator[Feed] = iter([feed])

    def get_next(self) -> Any:
        """The feed, then None."""
        return next(self.left, None)


def value_ranges(model: onnx.ModelProto, names: Sequence[str], feeds: Sequence[Feed], method: str) -> TensorsData:
    """The range of each tensor by `method` ("minmax", "entropy" or "percentile"). `model` stays as it is.

    Only what these tensors depend on is run. Raises ExportError where ONNX Runtime does not run it, OSError for a full
    disk; the library works on files in a temporary folder, which is removed however this ends.
    """
    part = onnx.ModelProto()
    part.CopyFrom(model)
    inputs = {value.name for value in model.graph.input}
    cut(part, None, [name for name in names if name not in inputs])
    needed = {value.name for value in part.graph.input}
    with TemporaryDirectory(prefix="zooport-") as folder:
        path = Path(folder) / "part.onnx"
        path.write_bytes(part.SerializeToString())
        calibrater = CALIBRATERS[method](path, augmented_model_path=str(Path(folder) / "with_ranges.onnx"))
        values = {value.name: value for value in (*part.graph.input, *part.graph.output)}
        wanted = {name for name in names if name in values}
        calibrater.select_tensors_to_calibrate = lambda _: (wanted, values)
        try:
            calibrater.augment_graph()
            calibrater.create_inference_session()
            for feed in feeds:
                calibrater.collect_data(_OnePicture({name: feed[name] for name in feed if name in needed}))
            ranges = calibrater.compute_data()
        except (OSError, MemoryError):
            raise
        except Exception as error:  # ONNX Runtime's errors are direct children of Exception
            raise ExportError(f"int8: the ranges of {len(wanted)} tensors cannot be found: {error}") from error
    return TensorsData(METHODS[method], {name: ranges[name] for name in ranges.keys()})  # noqa: SIM118 - no mapping
