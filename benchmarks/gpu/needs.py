"""Which packages zooport and the carried wheels need that will not be there: known before they are carried."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpu.paths import ROOT

PYTHON = "3.12"
STAGES = ("zooport[train]", "pytest", "pytest-timeout", "hypothesis", "cuda-bindings")
"""What the stages import."""
THERE = (
    *("torch", "torchvision", "numpy", "scipy", "safetensors", "sympy", "cuda-bindings"),
    *("onnx", "onnxscript", "ml-dtypes", "protobuf", "flatbuffers", "packaging"),
    *("opencv-python-headless", "pillow", "scikit-image", "scikit-learn"),
    *("matplotlib", "contourpy", "narwhals", "jinja2", "pyyaml", "rich"),
    *("pytest", "pytest-timeout", "hypothesis"),
)
"""What a machine with PyTorch for its GPU is taken to have; `install` says what of it that machine lacks."""
INSTEAD = {"opencv-python": "opencv-python-headless", "onnxruntime": "onnxruntime-gpu"}
"""A package -> another one with the same modules."""


def lacking(wheels: Sequence[Path], there: Mapping[str, str | None]) -> list[str]:
    """What is needed and is neither among the wheels nor `there`, each with what needs it: "addict (by mmengine)".

    `there`: names of packages and their versions; None is any version.
    """
    metadata = [_metadata(wheel) for wheel in wheels]
    versions: dict[str, str | None] = {canonicalize_name(name): version for name, version in there.items()}
    versions |= {canonicalize_name(fields["Name"]): fields["Version"] for fields in metadata}
    needed = [("zooport", line) for line in dict.fromkeys(_of_project(STAGES))]
    needed += [(fields["Name"], line) for fields in metadata for line in fields.get_all("Requires-Dist", [])]
    return [f"{Requirement(line)} (by {by})" for by, line in needed if not _is_met(Requirement(line), versions)]


def _metadata(wheel: Path) -> "Message[str, str]":
    with ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(name).decode())


def _of_project(names: Sequence[str]) -> Iterator[str]:
    """The requirements, with those of zooport's extras in the place of their names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for line in names:
        requirement = Requirement(line)
        if requirement.name != project["name"]:
            yield line
            continue
        yield from project["dependencies"]
        for extra in requirement.extras:
            yield from _of_project(project["optional-dependencies"][extra])


def _is_met(requirement: Requirement, versions: Mapping[str, str | None]) -> bool:
    marker = requirement.marker
    if marker is not None and not marker.evaluate({"python_version": PYTHON, "extra": ""}):
        return True
    name = canonicalize_name(requirement.name)
    for candidate in (name, INSTEAD.get(name, name)):
        if candidate in versions:
            version = versions[candidate]
            if version is None or requirement.specifier.contains(version, prereleases=True):
                return True
    return False
