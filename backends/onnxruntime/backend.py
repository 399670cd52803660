"""The backend onnxruntime."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from backends import gpu
from backends.backend import Backend, Built, LoadOptions
from backends.refused import check_int8
from backends.registry import register
from backends.runner import Array, Runner
from zoo.errors import BackendUnavailableError
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from backends.preflight import Row
    from zoo.manifest import Manifest
    from zoo.opened_folder import OpenedFolder


class OnnxRuntime(Backend):
    """ONNX Runtime on the CPU, on CUDA, or with another of its providers."""

    name = "onnxruntime"
    title = "ONNX Runtime"
    library = "onnxruntime"
    install = "pip install onnxruntime"
    distributions = ("onnxruntime",)
    load_options = frozenset({"engine", "cache", "spin"})
    devices = gpu.DEVICES
    device_pattern = gpu.DEVICE_PATTERN
    triton_backend = "onnxruntime"

    def open(self, folder: "OpenedFolder", manifest: "Manifest", options: LoadOptions) -> Runner:
        """See Backend."""
        from backends.onnxruntime.opening import open_deployed

        return open_deployed(folder, manifest, options)

    def open_graph(
        self,
        path: Path,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | None = None,
        axes: Mapping[str, AxisRange] | None = None,
        target: Target | None = None,
    ) -> Runner:
        """See Backend. On the target's device."""
        from backends.onnxruntime.runner import OnnxRuntimeRunner

        return OnnxRuntimeRunner(path, inputs, outputs, axes, provider="cpu" if target is None else target.device)

    def check_provider(self, provider: str) -> None:
        """See Backend."""
        from backends.onnxruntime.providers import provider_options

        with suppress(BackendUnavailableError):
            provider_options(provider)

    def check_target(self, target: Target) -> None:
        """See Backend; BackendUnavailableError also where the target's device is not here."""
        super().check_target(target)
        from backends.onnxruntime.providers import provider_options

        provider_options(target.device)
        if target.device != "cpu" and gpu.gpu(int(target.device.partition(":")[2] or 0)) is None:
            raise BackendUnavailableError(
                f"device {target.device}: this machine has no such GPU; give --device cpu, or cuda:0"
            )

    def computed(
        self, path: Path, feeds: Mapping[str, Array], target: Target, built: Built | None
    ) -> Mapping[str, int] | None:
        """Its kernels, by dtype; None for fp32.

        Raises NothingComputedError where int8 was asked for and nothing is computed in it. The CPU provider has few
        fp16 kernels and computes in fp32 between casts: that is recorded, and no error.
        """
        from backends.onnxruntime.computed import computed

        del built
        if target.precision == "fp32":
            return None
        counts = computed(path, feeds, target.device)
        if target.precision == "int8":
            check_int8(
                self.title,
                path,
                counts,
                ": it joins no layer with the nodes around it; deploy with --precision fp32, or in int8 for TensorRT",
            )
        return counts

    def is_on_cuda(self, requested: str | None) -> bool:
        """See Backend. Its providers that build engines are NVIDIA's, too."""
        from backends.onnxruntime.providers import BUILDERS

        return super().is_on_cuda(requested) or (requested or "").partition(":")[0] in BUILDERS

    def triton_accelerator(self) -> Mapping[str, str]:
        """See Backend. As for a session here, see provider_options."""
        return {"use_tf32": "0"}

    def triton_parameters(self, threads: int | None) -> Mapping[str, str]:
        """See Backend. On a GPU cuDNN's heuristics, as for a session here: Triton's own default is another."""
        return {"cudnn_conv_algo_search": "1"} if threads is None else {"intra_op_thread_count": str(threads)}

    def preflight_rows(self) -> "Sequence[Row]":
        """What its CPU provider has no kernel for."""
        from backends.onnxruntime.preflight import ROWS

        return ROWS


register(OnnxRuntime())
