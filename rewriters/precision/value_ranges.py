"""The ranges of a graph's tensors on calibration images, found by ONNX Runtime's own calibrators.

Its histograms take their bins from the first image, and grow by more of the same width: where that one is dark in a
tensor, to millions of them, for which entropy takes hours. So theirs begin here with the largest number of all
images, which is measured before; what is not finite is found by that as well.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, TensorsData
from onnxruntime.quantization.calibrate import (
    EntropyCalibrater,
    HistogramCollector,
    MinMaxCalibrater,
    PercentileCalibrater,
)

from rewriters.onnx_graph.cut import cut
from rewriters.onnx_graph.module_paths import module_path
from rewriters.precision.overflow import magnitudes
from zoo.errors import ExportError, InputError

BINS = 512
"""Of a histogram for entropy, which tries ranges from 128 of them, a quarter of the largest number, to all."""
CALIBRATERS: Mapping[str, Any] = {
    "minmax": MinMaxCalibrater,
    "entropy": partial(EntropyCalibrater, num_bins=BINS),
    "percentile": PercentileCalibrater,
}
METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "entropy": CalibrationMethod.Entropy,
    "percentile": CalibrationMethod.Percentile,
}
Feed = Mapping[str, NDArray[Any]]


class _OneImage(CalibrationDataReader):  # type: ignore[misc]  # the library has no types
    """One feed, so that no more than one image's tensors are in memory."""

    def __init__(self, feed: Feed) -> None:
        self.left: Iterator[Feed] = iter([feed])

    def get_next(self) -> Any:
        """The feed, then None."""
        return next(self.left, None)


def value_ranges(model: onnx.ModelProto, names: Sequence[str], feeds: Sequence[Feed], method: str) -> TensorsData:
    """The range of each tensor by `method` ("minmax", "entropy" or "percentile"). `model` stays as it is.

    Only what these tensors depend on is run, twice. Raises ExportError where ONNX Runtime does not run it or a tensor
    is not finite, InputError or OSError for a full disk; the library works on files in a temporary folder, which is
    removed however this ends.
    """
    part = onnx.ModelProto()
    part.CopyFrom(model)
    inputs = {value.name for value in model.graph.input}
    cut(part, None, [name for name in names if name not in inputs])
    needed = {value.name for value in part.graph.input}
    needed_feeds = [{name: feed[name] for name in feed if name in needed} for feed in feeds]
    values = {value.name: value for value in (*part.graph.input, *part.graph.output)}
    wanted = {name for name in names if name in values}
    largest = magnitudes(part, sorted(wanted), needed_feeds)
    _check_finite(model, largest)
    content = part.SerializeToString()
    with TemporaryDirectory(prefix="zooport-") as folder:
        path = Path(folder) / "part.onnx"
        path.write_bytes(content)
        try:
            calibrater = CALIBRATERS[method](path, augmented_model_path=str(Path(folder) / "with_ranges.onnx"))
            calibrater.select_tensors_to_calibrate = lambda _: (wanted, values)
            calibrater.augment_graph()
            calibrater.create_inference_session()
            if method != "minmax":
                calibrater.collector = _seeded(calibrater, largest)
            for feed in needed_feeds:
                calibrater.collect_data(_OneImage(feed))
            ranges = calibrater.compute_data()
        except (OSError, MemoryError):
            raise
        except Exception as error:  # ONNX Runtime's errors are direct children of Exception
            if shutil.disk_usage(folder).free < len(content):  # the library's own writing does not check
                raise InputError(
                    f"{folder}: the disk is full, and int8 needs room for {len(content)} bytes, several times; make "
                    "room, or set TMPDIR to another disk"
                ) from error
            raise ExportError(f"int8: the ranges of {len(wanted)} tensors cannot be found: {error}") from error
    return TensorsData(METHODS[method], {name: ranges[name] for name in ranges.keys()})  # noqa: SIM118 - no mapping


def _check_finite(model: onnx.ModelProto, largest: Mapping[str, float]) -> None:
    """Names the first tensor in the graph's order."""
    makers = {name: node for node in model.graph.node for name in node.output}
    for name in (*(value.name for value in model.graph.input), *makers):
        if np.isfinite(largest.get(name, 0)):
            continue
        node = makers.get(name)
        path = module_path(node) if node else None
        of = f" of {node.op_type} {node.name}{f' in {path}' if path else ''}" if node else ""
        raise ExportError(
            f"int8: {name}{of} is infinite or NaN on a calibration image, and has no range; "
            + ("keep its module in fp32 (keep_fp32), or give other images" if node else "give other images")
        )


def _seeded(calibrater: Any, largest: Mapping[str, float]) -> HistogramCollector:
    """A collector whose histograms are empty, and wide enough for all images. Zeros alone need no width."""
    collector = HistogramCollector(
        method=calibrater.method,
        symmetric=calibrater.symmetric,
        num_bins=calibrater.num_bins,
        num_quantized_bins=calibrater.num_quantized_bins,
        percentile=calibrater.percentile,
        scenario=calibrater.scenario,
    )
    nothing = np.float32(np.inf), np.float32(-np.inf)  # the smallest and the largest of no numbers
    for name, number in largest.items():
        if number > 0:
            end = np.float32(number)
            edges = np.linspace(-end, end, calibrater.num_bins + 1, dtype=np.float32)
            collector.histogram_dict[name] = (np.zeros(calibrater.num_bins, np.int64), edges, *nothing, end)
    return collector
