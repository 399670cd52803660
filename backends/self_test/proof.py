"""The machine of a proof, in words, and what this one lacks of it."""

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from zoo.manifest import Manifest
from zoo.notices import notice
from zoo.processor import Processor, processor

HOW: Mapping[str | None, str] = {
    "engine-not-run": ", by ONNX Runtime in the engine's place",
    "failed-allowed": " (its parity with PyTorch was missed, and allowed)",
}


def format_proof(manifest: Manifest) -> str:
    """The processor, its instruction sets, the runtime's versions, and what else a reader must know of the proof."""
    proved = manifest.proved_on
    if proved is None:
        return "a machine that its manifest does not name"
    versions = ", ".join(f"{package} {number}" for package, number in proved["versions"].items())
    return f"{_processor(proved)}, {versions}{HOW.get(manifest.parity['verdict'], '')}"


def lacking(manifest: Manifest) -> str | None:
    """One line, where a deployment was proved on what this machine lacks, and may compute something else here.

    int8: on instruction sets, or a version of the runtime. fp16: on another architecture, since some compute in halves
    what others compute in floats. None where nothing is lacking or known, and for fp32.
    """
    proved, stored = manifest.proved_on, manifest.precision["stored"]
    if stored == "fp32" or proved is None:
        return None
    proof, here = _processor(proved), processor()
    lacks = list(_another_architecture(proof, here))
    if stored == "int8":
        lacks = [*(lacks or _lacking_sets(proof, here)), *_older(proved["versions"])]
    if not lacks:
        return None
    return (
        f"{manifest.name} computes in {stored}, and was proved on {format_proof(manifest)}; this machine, "
        f"{processor().processor}, has {', '.join(lacks)}. It may compute something else: check it with "
        "zooport check, or load(folder, check=True)"
    )


@functools.cache
def warn_once(message: str) -> None:
    """A notice, once in each process."""
    notice(message)


def _processor(proved: Mapping[str, Any]) -> Processor:
    return Processor.from_dict({name: proved[name] for name in Processor.__dataclass_fields__})


def _another_architecture(proof: Processor, here: Processor) -> Iterator[str]:
    if proof.architecture != here.architecture:
        yield f"the architecture {here.architecture}"


def _lacking_sets(proof: Processor, here: Processor) -> Iterator[str]:
    if proof.instruction_sets is not None and here.instruction_sets is not None:
        lost = [name for name in proof.instruction_sets if name not in here.instruction_sets]
        if lost:
            yield f"no {' '.join(lost)}"


def _older(versions: Mapping[str, str]) -> Iterator[str]:
    from zoo.installed_versions import installed_versions  # slow, and a deployment in fp32 loads without it

    present = installed_versions(versions)
    for package, proved in versions.items():
        here = present.get(package)  # None: under another name, such as opencv-python-headless
        if here is None:
            continue
        if _numbers(here) < _numbers(proved):
            yield f"{package} {here}, older than {proved}"


def _numbers(number: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", number))
