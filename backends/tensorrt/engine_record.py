"""What an engine is: a JSON file beside the plan, and what must fit before the plan is loaded."""

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from backends.engine_options import EngineOptions
from backends.profiles import Profile
from backends.tensorrt.library import version_numbers
from zoo.errors import InputError, ZooportError
from zoo.files.json_object import json_object
from zoo.files.writing import write_synced
from zoo.opened_file import OpenedFile, as_opened

RTX = "tensorrt-rtx"
RECORD_BYTES = 2**24  # many times what a record of many profiles has
ACROSS = {(10, 11)}  # major versions that a version-compatible engine may cross (NVIDIA's support matrix, 11.4)
FIRST_RTX_CAPABILITY = (8, 0)  # of an engine that names none (TensorRT-RTX, CPU-only AOT)


@dataclass(frozen=True, kw_only=True)
class EngineRecord:
    """What an engine was built from, by what and for what.

    Nothing of the build itself is in it, such as its seconds: the manifest has its hash.
    `device`: the name of the GPU that was there, None where there was none. `precision`: what the graph was brought to
    ("fp32", "fp16", "int8"); `layers`: what the engine computes in, numpy's name of a type -> how many layers
    (backends.tensorrt.layers). `profiles`: in the engine's order. `values`: of inputs that decide shapes, the (min,
    opt, max) of their values. `bytes`: of the plan. `warnings`: TensorRT's own.
    """

    backend: str
    library_version: str
    device: str | None
    precision: str
    options: EngineOptions
    profiles: tuple[Profile, ...]
    values: Mapping[str, tuple[int, int, int]]
    layers: Mapping[str, int]
    onnx_sha256: str
    plan_sha256: str
    bytes: int
    warnings: tuple[str, ...] = ()

    @property
    def compute_capabilities(self) -> tuple[str, ...]:
        """Those that were asked for; () for the library's default: tensorrt-rtx builds for all from 8.0 on."""
        return self.options.compute_capabilities

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain JSON types."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], source: str = "engine record") -> Self:
        """The inverse of to_dict. Raises InputError, which names `source`, where a field is missing or is no such."""
        try:
            typed = dict(fields)
            typed["options"] = EngineOptions.from_dict(fields["options"])
            typed["profiles"] = tuple(
                {name: tuple(tuple(map(int, shape)) for shape in shapes) for name, shapes in ranges.items()}
                for ranges in fields["profiles"]
            )
            typed["values"] = {name: tuple(map(int, values)) for name, values in fields["values"].items()}
            typed["layers"] = {name: int(count) for name, count in fields["layers"].items()}
            typed["warnings"] = tuple(fields.get("warnings", ()))
            record = cls(**typed)
        except (AttributeError, KeyError, TypeError, ValueError, ZooportError) as error:
            raise InputError(f"{source}: no record of an engine ({error}); build the engine again") from error
        for name in ("backend", "library_version", "precision", "onnx_sha256", "plan_sha256"):
            if not isinstance(getattr(record, name), str):
                raise InputError(f"{source}: {name} is {getattr(record, name)!r}; build the engine again")
        return record

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON file."""
        text = json.dumps(self.to_dict(), sort_keys=True, indent=2, allow_nan=False, ensure_ascii=False)
        write_synced(Path(path), text.encode() + b"\n")

    @classmethod
    def read(cls, path: str | os.PathLike[str] | OpenedFile) -> Self:
        """Read the JSON file, by its path or held open. Raises InputError where it is missing or no record."""
        with as_opened(path) as file:
            content, path = file.read(RECORD_BYTES), file.path
        return cls.from_dict(json_object(content, str(path), "build the engine again"), str(path))


def record_path(plan_path: str | os.PathLike[str]) -> Path:
    """Where the record of a plan is: `model.engine.json` beside `model.engine`."""
    plan = Path(plan_path)
    return plan.with_name(f"{plan.name}.json")


def check_record(
    record: EngineRecord,
    plan: str | os.PathLike[str] | OpenedFile,
    onnx_file: str | os.PathLike[str] | OpenedFile,
    backend: str,
    library_version: str,
    device: str | None,
    capability: str | None = None,
) -> None:
    """Raise InputError unless the engine that `record` describes may be loaded here; it says how to build it again.

    `backend` and `library_version`: what is to run it. `device`, `capability`: the GPU's name and compute capability
    ("8.9"); None where they are not known, which is no fault. Both files, given by path or held open, are hashed.
    """
    fault = _fault(record, backend, library_version, device, capability)
    if fault is None:
        for place, expected in ((plan, record.plan_sha256), (onnx_file, record.onnx_sha256)):
            with as_opened(place) as file:
                got, name = file.sha256(), file.path.name
            if got != expected:
                fault = f"{name} has sha256 {got}, the engine's record says {expected}: the file changed"
                break
    if fault is not None:
        path = plan.path if isinstance(plan, OpenedFile) else plan
        raise InputError(f"{path}: {fault}; build it again: zooport deploy CONFIG --backend {backend}")


def _fault(
    record: EngineRecord, backend: str, library_version: str, device: str | None, capability: str | None
) -> str | None:
    if record.backend != backend:
        return f"an engine of {record.backend}, which {backend} cannot load"
    if not _version_fits(record, library_version):
        way = "built version-compatible by" if record.options.version_compatible else "built by"
        return f"{way} {backend} {record.library_version}, and this is {library_version}"
    if backend == RTX:
        return None if capability is None else _capability_fault(record, capability)
    if device is not None and not record.options.hardware_compatible and record.device != device:
        return f"built on {record.device}, and this is {device}"
    return None


def _version_fits(record: EngineRecord, library_version: str) -> bool:
    """Equal, or for a version-compatible engine a later one of the same major, or of ACROSS."""
    built, here = version_numbers(record.library_version), version_numbers(library_version)
    if not record.options.version_compatible or built == here:
        return built == here
    return built < here and (built[0] == here[0] or (built[0], here[0]) in ACROSS)


def _capability_fault(record: EngineRecord, capability: str) -> str | None:
    requested = record.compute_capabilities
    if requested and capability not in requested:
        return f"built for compute capability {', '.join(requested)}, and this GPU has {capability}"
    if not requested and version_numbers(capability) < FIRST_RTX_CAPABILITY:
        return f"built for compute capability 8.0 and later, and this GPU has {capability}"
    return None
