"""The backends tensorrt and tensorrt-rtx: one implementation over two libraries."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from backends import gpu
from backends.backend import Backend, BuildRequest, Built, LoadOptions
from backends.engine_options import EngineOptions
from backends.registry import register
from backends.runner import Array, Runner
from backends.tensorrt.files import ENGINE_FILE, RECORD_FILE
from backends.tensorrt.option_check import engine_options
from zoo.dialect import STANDARD, Dialect
from zoo.errors import InputError
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec
from zoo.windows import WINDOW_BATCH

if TYPE_CHECKING:
    from backends.preflight import Row
    from zoo.manifest import Manifest
    from zoo.opened_folder import OpenedFolder


class TensorRT(Backend):
    """TensorRT: builds an engine on a GPU, for that GPU."""

    name = "tensorrt"
    title = "TensorRT"
    library = "tensorrt"
    install = 'pip install "zooport[tensorrt]"'
    distributions = ("tensorrt", "cuda-bindings")
    # its GridSample gave wrong boxes without an error: NVIDIA/TensorRT#4813; engines add products in 32 bits
    dialect = Dialect(
        STANDARD, lacks=frozenset({"GridSample", "If of unequal ranks"}), weight_bits=8, unsigned_activations=False
    )
    files = (ENGINE_FILE, RECORD_FILE)
    fuses = True
    options = EngineOptions
    load_options = frozenset({"cuda_graph"})
    devices = gpu.DEVICES
    device_pattern = gpu.DEVICE_PATTERN
    triton_backend = "tensorrt"

    def device(self, requested: str) -> str:
        """An engine runs on a GPU: the one asked for, or the first."""
        return "cuda:0" if requested == "cpu" else requested

    def can_run(self, device: str) -> str | None:
        """See Backend."""
        from backends.tensorrt import running

        return running.can_run(self.name, self.device(device))

    def check_target(self, target: Target) -> None:
        """See Backend: the options, the GPU and the range of batches, too."""
        super().check_target(target)
        if target.thresholds:
            raise InputError(
                f"thresholds as inputs with backend {self.name}: TensorRT treats inputs that may be left out as "
                "constants; leave export.inputs.thresholds out"
            )
        from backends.tensorrt.build_check import check_buildable

        check_buildable(self.name, engine_options(target), self.device(target.device), _batch_of_the_file(target))

    def check_load(self, manifest: "Manifest", options: LoadOptions) -> None:
        """See Backend."""
        if options.engine is not None:
            raise InputError("its engine is built already; leave engine out, or deploy it again with --engine")
        super().check_load(manifest, options)

    def open(self, folder: "OpenedFolder", manifest: "Manifest", options: LoadOptions) -> Runner:
        """The runner of the folder's engine, whose record must fit this machine."""
        from backends.tensorrt.opening import open_engine

        return open_engine(self, folder, manifest, options)

    def open_graph(
        self,
        path: Path,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | None = None,
        axes: Mapping[str, AxisRange] | None = None,
        target: Target | None = None,
    ) -> Runner:
        """Builds an engine of the file beside it, and opens that. Takes inputs, outputs and a target."""
        from backends.tensorrt import build
        from backends.tensorrt.runner import TensorRTRunner

        assert inputs is not None and outputs is not None and target is not None  # noqa: PT018 - an engine needs them
        named = {side for spec in inputs for side in spec.shape if isinstance(side, str)}
        axes = {name: AxisRange.fixed(1) for name in named} | dict(axes or {})
        plan, device = path.with_suffix(".engine"), self.device(target.device)
        build.build_engine(
            path, plan, self.name, engine_options(target), inputs, axes, precision=target.precision, device=device
        )
        return TensorRTRunner(plan, inputs, outputs, axes, backend=self.name, device=device)

    def build(self, request: BuildRequest) -> Built:
        """The engine and its record beside the ONNX file."""
        from backends.tensorrt import build

        target = request.target
        record, seconds = build.build_engine(
            request.onnx_path,
            request.onnx_path.with_name(ENGINE_FILE),
            self.name,
            engine_options(target),
            request.inputs,
            request.axes,
            request.values,
            precision=target.precision,
            device=self.device(target.device),
        )
        device = "" if record.device is None else f" on {record.device}"
        summary = f"{record.backend} {record.library_version}{device}, {record.bytes / 2**20:.1f} MiB"
        return Built(summary, seconds, record.layers, record.profiles, record.to_dict())

    def computed(
        self, path: Path, feeds: Mapping[str, Array], target: Target, built: Built | None
    ) -> Mapping[str, int] | None:
        """The engine's layers, by dtype; None for fp32, in which all of them are."""
        del path, feeds
        return None if built is None or target.precision == "fp32" else built.layers

    def preflight_rows(self) -> "Sequence[Row]":
        """What its parser or builder refuses, and what it computes wrongly."""
        from backends.tensorrt.preflight import ROWS

        return [row for row in ROWS if self.name in row.versions]


class TensorRTRTX(TensorRT):
    """TensorRT for RTX: builds without a GPU, for all from Ampere on."""

    name = "tensorrt-rtx"
    library = "tensorrt_rtx"
    install = 'pip install "zooport[tensorrt-rtx]"'
    distributions = ("tensorrt_rtx", "cuda-bindings")
    dialect = Dialect(
        STANDARD,
        lacks=frozenset({"GridSample", "DeformConv", "If of unequal ranks"}),
        weight_bits=8,
        unsigned_activations=False,
    )
    triton_backend = ""


def _batch_of_the_file(target: Target) -> AxisRange:
    """The batches that an engine takes: of images, or of windows that the host cuts."""
    if target.slide != "host":
        return target.batch
    most = target.window_batch or WINDOW_BATCH
    return AxisRange(1, min(2, most), most)


register(TensorRT())
register(TensorRTRTX())
