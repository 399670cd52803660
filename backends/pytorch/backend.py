"""The backend pytorch: the reference itself, which is never deployed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from backends import gpu
from backends.backend import Backend, LoadOptions
from backends.registry import register
from backends.runner import Runner
from zoo.errors import InputError
from zoo.target import DEFAULT_BACKEND, AxisRange, Target
from zoo.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from zoo.manifest import Manifest
    from zoo.opened_folder import OpenedFolder


class PyTorch(Backend):
    """Eager PyTorch. Its runner takes a module: backends.pytorch.runner."""

    name = "pytorch"
    title = "PyTorch"
    library = "torch"
    install = 'pip install "zooport[export]"'
    distributions = ("torch",)
    devices = gpu.DEVICES
    device_pattern = gpu.DEVICE_PATTERN

    def check_target(self, target: Target) -> NoReturn:
        """There is nothing to build: an InputError always."""
        del target
        raise InputError(
            "backend pytorch is the reference itself, and there is nothing to build for it; give --backend "
            f"{DEFAULT_BACKEND}"
        )

    def check_load(self, manifest: "Manifest", options: LoadOptions) -> NoReturn:
        """No folder is of this backend: an InputError always."""
        del manifest, options
        raise InputError(f"backend pytorch runs modules, not folders; deploy with --backend {DEFAULT_BACKEND}")

    def open(self, folder: "OpenedFolder", manifest: "Manifest", options: LoadOptions) -> Runner:
        """An InputError, as check_load."""
        del folder
        self.check_load(manifest, options)

    def open_graph(
        self,
        path: Path,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | None = None,
        axes: Mapping[str, AxisRange] | None = None,
        target: Target | None = None,
    ) -> Runner:
        """An InputError: it runs modules."""
        del inputs, outputs, axes, target
        raise InputError(f"{path}: backend pytorch runs modules, not files; give --backend {DEFAULT_BACKEND}")


register(PyTorch())
