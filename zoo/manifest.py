"""deployment.json: everything that a production machine must know of a deployment (torch-free)."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from zoo.errors import InputError
from zoo.manifest_contradictions import contradictions
from zoo.manifest_schema import DIGEST_KEY, NEW_KEYS, SCHEMA_VERSION, manifest_schema, schema_errors
from zoo.manifest_text import REDEPLOY, manifest_fields, manifest_text
from zoo.opened_file import COPY_AGAIN, OpenedFile
from zoo.opened_folder import MANIFEST_FILE, Folder, OpenedFolder, read_whole
from zoo.pillars import LEVEL, Pillars
from zoo.printable import printable
from zoo.target import AxisRange
from zoo.tasks import ClassInfo, Task, build_task, input_kind_of
from zoo.tensor_spec import TensorSpec
from zoo.windows import Windows

ONNX_FILE = "model.onnx"
SELF_TEST_FILE = "self_test.npz"
MANIFEST_BYTES = 2**24  # many times what a manifest of 20 000 classes has
SHOWN_ERRORS = 4


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a deployment is. The keys of deployment.json are the fields, and docs/deployment.schema.json describes them.

    The file has one key more, its own sha256 (zoo.manifest_text).

    `preprocess`: the rule of the task's input kind, for images a zoo.preprocess.Preprocess.
    `axes` holds the bounds of each dynamic axis that the shapes of `inputs` name. `precision`: {stored, computed}, and
    below fp32 the `options` that made it, how many images it was `calibrated_on`, and the `nodes` counted in it,
    {stored, computed} -> {dtype: number}.
    `engine`: the options that the backend built with; the file has no such key for backends without.
    `rewriters`: {name, reason, hits}, those that fired. `files`: {name: {sha256, bytes}}, names relative to the folder.
    `parity`: {verdict}, None before parity was measured. `provider` and `threads` None: the backend's default and the
    process's CPU affinity. `checkpoint`: {sha256} of the weights, `config`: {sha256} of the config's model section and
    of what its forward is given; None where a manifest does not tell. `task_options`: those that are on, see
    zoo.tasks.Task.options; the file has no such key where there are none. `windows`: where the ONNX file is the model
    of one window and the backend cuts and joins them; `pillars`: where the ONNX file takes pillars and the backend puts
    the points into them; the file has no such keys elsewhere. `defaults`: of the inputs that may be left out; the file
    has no such key where there are none. `proved_on`: {processor, architecture, instruction_sets, versions} of the
    proof; `self_test`: {image, gates, thresholds}, of the file SELF_TEST_FILE. The file has no such keys where there
    was no proof, or nothing here can run the deployment.
    """

    name: str
    task: str
    classes: tuple[ClassInfo, ...]
    preprocess: Any
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    axes: Mapping[str, AxisRange]
    output_level: str
    backend: str
    precision: Mapping[str, Any]
    exporter: str
    opset: int
    versions: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]
    rewriters: tuple[Mapping[str, Any], ...] = ()
    provider: str | None = None
    threads: int | None = None
    parity: Mapping[str, str | None] = field(default_factory=lambda: {"verdict": None})
    gates: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, str] | None = None
    config: Mapping[str, str] | None = None
    task_options: Mapping[str, bool | str | Sequence[str]] = field(default_factory=dict)
    windows: Windows | None = None
    pillars: Pillars | None = None
    defaults: Mapping[str, float] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    proved_on: Mapping[str, Any] | None = None
    self_test: Mapping[str, Any] | None = None
    schema_version: int = SCHEMA_VERSION

    @property
    def target_level(self) -> str:
        """The output level that the deployment was made with: what gives the outputs of another one."""
        return self.output_level if self.pillars is None else LEVEL

    def check_results(self, place: object) -> None:
        """Raises InputError, which names the deployment's `place`, for one of an output level without results."""
        if self.output_level != "final":
            raise InputError(f'{place}: output level "{self.output_level}" has no results; deploy level final')

    def build_task(self) -> Task:
        """The task of its results. Raises InputError for one that is not known here."""
        return build_task({"type": self.task, "classes": self.classes, **self.task_options})

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain JSON types. Raises InputError where the manifest does not fit its schema."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain |= {
            "classes": [info._asdict() for info in self.classes],
            "preprocess": self.preprocess.to_dict(),
            "inputs": [spec._asdict() | {"shape": list(spec.shape)} for spec in self.inputs],
            "outputs": [spec._asdict() | {"shape": list(spec.shape)} for spec in self.outputs],
            "axes": {name: {"min": axis.min, "opt": axis.opt, "max": axis.max} for name, axis in self.axes.items()},
            "rewriters": [dict(rewriter) for rewriter in self.rewriters],
            "files": {name: dict(record) for name, record in self.files.items()},
        }
        for name in ("precision", "versions", "parity", "gates", "task_options", "defaults", "engine"):
            plain[name] = dict(plain[name])
        plain["windows"] = self.windows and self.windows.to_dict()
        plain["pillars"] = self.pillars and self.pillars.to_dict()
        for name in ("task_options", "windows", "pillars", "defaults", "engine"):
            if not plain[name]:
                del plain[name]
        for name in ("proved_on", "self_test"):
            if plain[name] is None:
                del plain[name]
        for name in ("checkpoint", "config"):
            plain[name] = None if plain[name] is None else dict(plain[name])
        _check(plain, f"manifest of {self.name}", "correct the field")
        return plain

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], source: str = MANIFEST_FILE) -> Self:
        """The inverse of to_dict. `source` names the origin in messages. Raises InputError, see read."""
        version = fields.get("schema_version")
        if type(version) is not int or version not in range(max(1, SCHEMA_VERSION - 1), SCHEMA_VERSION + 1):
            raise InputError(
                f"{source}: schema_version is {version!r}; this zooport reads version {SCHEMA_VERSION} and the one "
                f"before it; update zooport, or {REDEPLOY}"
            )
        if version < SCHEMA_VERSION and (unknown := [key for key in NEW_KEYS if key in fields]):
            raise InputError(f'{source}: unknown key "{unknown[0]}" in schema_version {version}; {REDEPLOY}')
        _check(fields, source, REDEPLOY)
        typed = {key: value for key, value in fields.items() if key != DIGEST_KEY}
        try:
            typed |= _typed(fields)
            return cls(**typed)
        except InputError as error:
            raise InputError(f"{source}: {error}; {REDEPLOY}") from error

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write deployment.json into the folder: the same bytes for the same manifest. Gives its path.

        A manifest that was read from a file of the schema version before becomes one of this version.
        """
        path = Path(folder) / MANIFEST_FILE
        path.write_bytes(manifest_text({**self.to_dict(), "schema_version": SCHEMA_VERSION}))
        return path

    @classmethod
    def read(cls, folder: Folder) -> Self:
        """Read and check the folder's deployment.json.

        Raises InputError where it is missing, is not JSON, was changed after it was written, is of an unknown schema
        version, lacks a key, has one too many or one of the wrong type. Does not look at the other files: see verify.
        """
        return read_whole(folder, cls._read)

    @classmethod
    def _read(cls, folder: OpenedFolder) -> Self:
        path = folder.path / MANIFEST_FILE
        if not folder.has(MANIFEST_FILE):
            raise InputError(f"{folder.path}: no {MANIFEST_FILE}; give the folder that zooport deploy wrote")
        return cls.from_bytes(folder.file(MANIFEST_FILE).read(MANIFEST_BYTES), str(path))

    @classmethod
    def read_verified(cls, folder: Folder) -> Self:
        """The manifest of a folder whose files are what they were. Raises InputError, see read and verify."""
        return read_whole(folder, cls._read_verified)

    @classmethod
    def _read_verified(cls, folder: OpenedFolder) -> Self:
        manifest = cls._read(folder)
        manifest._verify(folder)  # noqa: SLF001 - of its own class
        return manifest

    @classmethod
    def from_bytes(cls, content: bytes, source: str = MANIFEST_FILE) -> Self:
        """Of the bytes of a deployment.json. `source` names the file in messages. Raises InputError, see read."""
        return cls.from_dict(manifest_fields(content, source), source)

    def verify(self, folder: Folder) -> None:
        """Raise InputError unless each of `files` is a file in the folder and has its size and sha256."""
        read_whole(folder, self._verify)

    def open_files(self, folder: OpenedFolder) -> None:
        """Open each of `files`. Raises InputError for one of another size, of which nothing is read, however large."""
        for name, expected in self.files.items():
            file = folder.file(name)
            if file.size != expected["bytes"]:
                raise _changed(file, "bytes", file.size, expected["bytes"])

    def _verify(self, folder: OpenedFolder) -> None:
        self.open_files(folder)
        for name, expected in self.files.items():
            file = folder.file(name)
            if (sha256 := file.sha256()) != expected["sha256"]:
                raise _changed(file, "sha256", sha256, expected["sha256"])


def _changed(file: OpenedFile, key: str, value: object, expected: object) -> InputError:
    return InputError(
        f"{file.path}: got {key} {value}, expected {expected} ({MANIFEST_FILE}); the file changed after it was "
        f"deployed: {COPY_AGAIN}"
    )


def file_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """{sha256, bytes} of a file, for Manifest.files. Raises InputError where it cannot be read."""
    with OpenedFile(path) as file:
        return {"sha256": file.sha256(), "bytes": file.size}


def _typed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are no plain JSON types in a manifest. Raises InputError where one is out of its range."""
    typed: dict[str, Any] = {
        "classes": tuple(ClassInfo(**info) for info in fields["classes"]),
        "preprocess": input_kind_of(fields["task"]).rule(fields["preprocess"]),
        "axes": {name: AxisRange(**bounds) for name, bounds in fields["axes"].items()},
        "rewriters": tuple(fields["rewriters"]),
    }
    for side in ("inputs", "outputs"):
        typed[side] = tuple(TensorSpec(**{**spec, "shape": tuple(spec["shape"])}) for spec in fields[side])
    if "windows" in fields:
        typed["windows"] = Windows(**fields["windows"])
    if "pillars" in fields:
        typed["pillars"] = Pillars.from_dict(fields["pillars"])
    build_task({**fields.get("task_options", {}), "type": fields["task"], "classes": typed["classes"]})
    return typed


def _check(fields: Mapping[str, Any], source: str, cure: str) -> None:
    schema = manifest_schema(input_kind_of(fields.get("task")))
    errors = list(schema_errors(fields, schema)) or list(contradictions(fields))
    if errors:
        more = f" (and {len(errors) - SHOWN_ERRORS} more)" if len(errors) > SHOWN_ERRORS else ""
        raise InputError(f"{source}: {printable('; '.join(errors[:SHOWN_ERRORS]))}{more}; {cure}")
