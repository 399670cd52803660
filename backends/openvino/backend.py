"""The backend openvino."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from backends.backend import Backend, Built, LoadOptions
from backends.openvino.devices import DEVICE_PATTERN, DEVICES
from backends.refused import check_int8
from backends.registry import register
from backends.runner import Array, Runner
from zoo.dialect import Dialect
from zoo.errors import ExportError
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from zoo.manifest import Manifest
    from zoo.opened_folder import OpenedFolder


class OpenVINO(Backend):
    """OpenVINO's runtime. It compiles the ONNX file when it is loaded, and keeps what it compiled where `cache` says.

    What it computes in is set, never left to it: by itself it takes bfloat16 on CPUs that have it. On the CPU all
    floats are computed in fp32, those of an fp16 file too, as ONNX Runtime does; on other devices an fp16 file is
    computed in fp16.
    """

    name = "openvino"
    title = "OpenVINO"
    library = "openvino"
    install = 'pip install "zooport[openvino]"'
    distributions = ("openvino",)
    fuses = True
    dialect = Dialect(
        lacks=frozenset({"DeformConv", "antialiased Resize"}),  # the latter it computes without antialiasing
        unsigned_activations=False,  # its kernels of int8 are no slower, and SiLU is faster in floats
    )
    load_options = frozenset({"cache"})
    devices = DEVICES
    device_pattern = DEVICE_PATTERN

    def check_target(self, target: Target) -> None:
        """See Backend; BackendUnavailableError also where the target's device is not here."""
        super().check_target(target)
        from backends.openvino.compiling import device_here

        device_here(target.device)

    def open(self, folder: "OpenedFolder", manifest: "Manifest", options: LoadOptions) -> Runner:
        """See Backend."""
        from backends.openvino.opening import open_deployed

        return open_deployed(folder, manifest, options)

    def open_graph(
        self,
        path: Path,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | None = None,
        axes: Mapping[str, AxisRange] | None = None,
        target: Target | None = None,
    ) -> Runner:
        """See Backend."""
        from backends.openvino.opening import open_file

        device, precision = ("cpu", "fp32") if target is None else (target.device, target.precision)
        return open_file(path, device, precision, inputs, outputs, axes)

    def computed(
        self, path: Path, feeds: Mapping[str, Array], target: Target, built: Built | None
    ) -> Mapping[str, int] | None:
        """The layers of the compiled model, by dtype; nothing is run.

        Raises NothingComputedError where int8 was asked for and nothing is computed in it.
        """
        from backends.openvino.computed import computed

        del feeds, built
        counts = computed(path, target.device, target.precision)
        lower = ", ".join(sorted(counts.keys() - {"float32", "float64"}))
        if target.precision == "fp32" and lower:
            raise ExportError(
                f"{path}: precision fp32 was asked for, and OpenVINO computes in {lower} on device {target.device}; "
                "give --device cpu, or --precision fp16"
            )
        if target.precision == "int8":
            check_int8(self.title, path, counts, "; deploy it with --precision fp32")
        return counts


register(OpenVINO())
