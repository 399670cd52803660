"""The folder of a large run: its settings, its plan, and a file for each block that is finished."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import basename
from typing import Any

from backends.scale.blocks import Block
from backends.scale.inputs import Inputs
from backends.scale.storage import EXTRA, USE, Storage
from zoo.errors import InputError
from zoo.optional_library import optional_library

SETTINGS = "_zooport_run.json"
PLAN = "_zooport_plan.parquet"
"""Names with a line in front: readers of a folder of Parquet files pass them over."""
PART = re.compile(r"part-(\d{8,})\.parquet")
AGAIN = "start again in another folder"
PLAN_COLUMNS = ("block", "inputs")


def part_name(number: int) -> str:
    """The file of a block."""
    return f"part-{number:08}.parquet"


class RunFolder:
    """`settings`: what a run that continues must have in common with the one before; plain JSON types.

    Raises InputError if the folder has something in it, unless `resume` is on and a run with the same settings began
    there.
    """

    def __init__(self, location: str, settings: Mapping[str, Any], *, resume: bool) -> None:
        self.storage = Storage(location)
        self.settings = json.loads(json.dumps(settings))
        self._resume = resume
        if self.storage.kind() == "file":
            raise InputError(
                f"--out {self.storage.location}: is a file, and {USE} writes a folder of files; give another name"
            )
        self.begun, self.finished = self._look()

    def look_again(self) -> None:
        """What is in it now. Raises InputError as at first, and if another run has begun there, or was removed."""
        begun, self.finished = self._look()
        if begun != self.begun:
            raise InputError(f"--out {self.storage.location}: was changed by another process; start the command again")

    def _look(self) -> tuple[bool, set[int]]:
        """Whether a run has begun there, and the numbers of the blocks that are finished."""
        names = {basename(path) for path in self.storage.listed()}
        begun = SETTINGS in names
        others = names - {PLAN}  # a plan without settings: killed before anything began
        if others and not (self._resume and begun):
            cure = "continue with --resume, or give another folder" if begun else "give another folder"
            raise InputError(f"--out {self.storage.location}: exists already; {cure}")
        if begun:
            self._check_settings()
        return begun, {int(match[1]) for name in names if (match := PART.fullmatch(name))}

    def begin(self, blocks: Iterable[Block]) -> None:
        """Write down what is to be done. Raises InputError if the folder cannot be written."""
        arrow = optional_library("pyarrow", EXTRA, USE)
        library = optional_library("pyarrow.parquet", EXTRA, USE)
        columns: tuple[list[int], list[str]] = ([], [])
        for block in blocks:
            for each in block.inputs:
                columns[0].append(block.number)
                columns[1].append(each.to_json())
        self.storage.make_folder()
        try:
            with self.storage.staged(PLAN) as place:
                table = arrow.table(dict(zip(PLAN_COLUMNS, columns, strict=True)))
                library.write_table(table, place, filesystem=self.storage.files)
            self.storage.write(SETTINGS, json.dumps(self.settings, indent=1).encode())
            self.begun = True
        except OSError as error:
            raise InputError(
                f"--out {self.storage.location}: cannot be written ({error}); give another folder"
            ) from error

    def blocks(self) -> Iterator[Block]:
        """The plan, block by block. Raises InputError if it is damaged."""
        library = optional_library("pyarrow.parquet", EXTRA, USE)
        number = 0
        held: list[Inputs] = []
        try:
            with library.ParquetFile(self.storage.child(PLAN), filesystem=self.storage.files) as plan:
                for batch in plan.iter_batches(columns=list(PLAN_COLUMNS)):
                    for block, text in zip(*(batch.column(name).to_pylist() for name in PLAN_COLUMNS), strict=True):
                        if held and block != number:
                            yield Block(number, tuple(held))
                            held = []
                        number = block
                        held.append(Inputs.from_json(text))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{self.storage.location}/{PLAN}: is damaged ({error}); {AGAIN}") from error
        if held:
            yield Block(number, tuple(held))

    def _check_settings(self) -> None:
        try:
            before = json.loads(self.storage.read(SETTINGS))
            differing = [name for name, value in self.settings.items() if before.get(name) != value]
        except (OSError, ValueError, AttributeError) as error:
            raise InputError(f"{self.storage.location}/{SETTINGS}: is damaged ({error}); {AGAIN}") from error
        if differing:
            raise InputError(
                f"--resume: {self.storage.location} was started with another "
                f"{', '.join(differing).replace('_', ' ')}; give the same, or {AGAIN}"
            )
