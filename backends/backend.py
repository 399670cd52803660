"""A backend: what runs a graph, what that takes, and what is known of it. One object for each; it registers itself."""

import importlib
import importlib.util
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from backends.engine_options import EngineOptions
from backends.runner import Array, Runner
from zoo.dialect import Dialect
from zoo.errors import BackendUnavailableError, InputError
from zoo.options import Options
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from backends.preflight import Row
    from zoo.manifest import Manifest
    from zoo.opened_folder import OpenedFolder

CPU = "cpu"
Shape = tuple[int, ...]


@dataclass(frozen=True)
class LoadOptions:
    """What `load` was asked for: see its ``provider``, ``threads``, ``engine``, ``cuda_graph``, ``cache``, ``workers``
    and ``spin``.

    For proofs alone: ``onnx_path``, another form of the deployment's ONNX file; ``in_floats``: quantised layers are
    computed in floats, and rounded where the graph rounds.
    """

    provider: str | None = None
    threads: int | None = None
    engine: EngineOptions | None = None
    cuda_graph: bool = False
    cache: Path | None = None
    onnx_path: Path | None = None
    in_floats: bool = False
    workers: int | None = None
    spin: bool = True

    def call_threads(self, manifest: "Manifest") -> int | None:
        """Of one call: those asked for, one for each of several workers, or the manifest's; None for the default."""
        if self.threads is not None:
            return self.threads
        return manifest.threads if self.workers is None else 1


@dataclass(frozen=True)
class BuildRequest:
    """``onnx_path``: the file to build of. ``inputs`` and ``axes``: its inputs and the bounds of their dynamic axes.

    ``values``: the range of the values of each input that decides shapes, such as a scale.
    """

    onnx_path: Path
    target: Target
    inputs: Sequence[TensorSpec]
    axes: Mapping[str, AxisRange]
    values: Mapping[str, AxisRange] = field(default_factory=dict)


@dataclass(frozen=True)
class Built:
    """What a build added to a deployment.

    ``summary``: what built it, and how large it is, in words. ``layers``: numpy's name of a type -> how many layers
    compute in it. ``profiles``: for each tuning, an input's name -> its smallest, best and largest shape. ``record``:
    all that is known of it, as JSON types.
    """

    summary: str
    seconds: float
    layers: Mapping[str, int]
    profiles: Sequence[Mapping[str, tuple[Shape, Shape, Shape]]] = ()
    record: Mapping[str, Any] = field(default_factory=dict)


class Backend(ABC):
    """What runs a graph. Subclasses set the attributes and write `open` and `open_graph`; the rest has defaults.

    ``name``: on the command line and in manifests. ``title``: in prose. ``library``: the Python module that it needs;
    ``install``: the command that brings it. ``distributions``: the packages whose versions its numbers depend on.
    ``dialect``: what it takes of a graph. ``files``: those that `build` adds beside the ONNX file. ``fuses``: whether
    it makes kernels of several operators, so that alignment looks for a difference by running pieces of the graph.
    ``options``: those of its build, a zoo.options.Options. `Target.engine` is an object of it, and a manifest's
    `engine` has its fields. ``load_options``: which of `load`'s "engine", "cuda_graph", "cache" and "spin" it
    takes.
    ``concurrent``: whether threads may use one of its runners at the same time, and are quicker then. If not, a runner
    takes one call at a time, and `load(workers=N)` opens N of them.
    ``devices``: those that it runs on, in words; ``device_pattern``: the regular expression that a device's whole name
    matches. ``triton_backend``: that of NVIDIA's Triton that runs its file; empty if there is none.

    Importing the module of a backend loads no library: what needs one is imported when it is used.
    """

    name: str
    title: str
    library: str
    install: str
    distributions: tuple[str, ...] = ()
    dialect: Dialect = Dialect()
    files: tuple[str, ...] = ()
    fuses: bool = False
    options: type[Options] | None = None
    load_options: frozenset[str] = frozenset()
    concurrent: bool = True
    devices: str = "cpu"
    device_pattern: str = "cpu"
    triton_backend: str = ""

    @abstractmethod
    def open(self, folder: "OpenedFolder", manifest: "Manifest", options: LoadOptions) -> Runner:
        """The runner of a deployment's file: of its whole images, or of its windows, see file_tensors.

        Raises InputError and BackendUnavailableError as `load` does, and ExportError where the file is refused.
        """

    @abstractmethod
    def open_graph(
        self,
        path: Path,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | None = None,
        axes: Mapping[str, AxisRange] | None = None,
        target: Target | None = None,
    ) -> Runner:
        """The runner of a bare ONNX file, or of a piece of one. None: as the file says. ``target``: what it is for."""

    def lack(self) -> str | None:
        """None if its library is installed, else the reason and what to install. Imports nothing."""
        try:
            present = importlib.util.find_spec(self.library) is not None
        except (ImportError, ValueError):  # an import hook refuses it, or a stand-in without a spec is loaded
            present = False
        return None if present else f"{self.library} is not installed; {self.install}"

    def import_library(self) -> ModuleType:
        """Its library. Raises BackendUnavailableError if it is not installed or cannot be imported."""
        unavailable = f"backend {self.name} is not available:"
        try:
            return importlib.import_module(self.library)
        except ModuleNotFoundError as error:
            lack = "is not installed" if error.name == self.library else f"lacks {error.name}"
            raise BackendUnavailableError(f"{unavailable} {self.library} {lack}; {self.install}") from error
        except Exception as error:  # its shared libraries are not there or do not fit, or it is half installed
            reason = " ".join(str(error).split()) or type(error).__name__
            raise BackendUnavailableError(
                f"{unavailable} {self.library} is installed, but cannot be imported ({reason}); install it again: pip "
                f"install --force-reinstall {' '.join(self.distributions) or self.library}"
            ) from error

    def can_run(self, device: str) -> str | None:
        """None if a deployment for this device can run here; else the reason. Then the default backend runs it."""
        del device
        return None

    def device(self, requested: str) -> str:
        """The device that it builds for and runs on if ``requested`` is requested."""
        return requested

    def is_on_cpu(self, requested: str | None) -> bool:
        """Whether it runs on the CPU if ``requested`` is requested; None: no device is."""
        return self.device(requested or CPU) == CPU

    def is_on_cuda(self, requested: str | None) -> bool:
        """Whether it runs on a GPU of NVIDIA's if ``requested`` is requested; None: no device is."""
        return self.device(requested or CPU).partition(":")[0] == "cuda"

    def check_device(self, device: str) -> None:
        """Raises InputError if the backend has no such device."""
        if not re.fullmatch(self.device_pattern, device):
            raise InputError(f'device "{device}": expected {self.devices}')

    def check_provider(self, provider: str) -> None:
        """Raises InputError for a provider that no machine has; this machine need not have it."""
        self.check_device(provider)

    def check_target(self, target: Target) -> None:
        """Whether the target can be built here; found out before the export. Imports the library.

        Raises InputError and BackendUnavailableError.
        """
        lack = self.lack()
        if lack is not None:
            raise BackendUnavailableError(f"backend {self.name} is not available: {lack}")
        self.check_device(target.device)
        self.import_library()

    def build(self, request: BuildRequest) -> Built | None:
        """Write `files` beside the ONNX file. None: there is nothing to build.

        Raises GraphRefusedError where the graph is refused, and what else a build raises.
        """
        del request
        return None

    def computed(
        self, path: Path, feeds: Mapping[str, Array], target: Target, built: Built | None
    ) -> Mapping[str, int] | None:
        """How many layers compute in which dtype, counted in a run on ``feeds``; None if that is not counted."""
        del path, feeds, target
        return None if built is None else built.layers

    def triton_accelerator(self) -> Mapping[str, str]:
        """Options of `triton_backend`'s accelerator "cuda", on a GPU of NVIDIA's."""
        return {}

    def triton_parameters(self, threads: int | None) -> Mapping[str, str]:
        """Of `triton_backend`. ``threads``: of a call on the CPU; None on a GPU of NVIDIA's."""
        del threads
        return {}

    def preflight_rows(self) -> "Sequence[Row]":
        """What is known about graphs before they are built, special rows before general ones. Only for pipeline."""
        return ()

    def check_load(self, manifest: "Manifest", options: LoadOptions) -> None:
        """Raises InputError for an option of `load` that this backend does not have."""
        del manifest
        for option, requested in (
            ("engine", options.engine is not None),
            ("cuda_graph", options.cuda_graph),
            ("cache", options.cache is not None),
            ("spin", not options.spin),
        ):
            if requested and option not in self.load_options:
                raise InputError(f"{option} with backend {self.name}, which {_LACKS[option]}; leave it out")


_LACKS = {
    "engine": "builds no engine when it is loaded",
    "cuda_graph": "has no engine",
    "cache": "compiles nothing that could be kept",
    "spin": "has no threads that look for work",
}
