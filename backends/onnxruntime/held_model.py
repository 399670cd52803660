"""An ONNX file that is held open, and the files that it reads its weights from, for a session."""

import hashlib
import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import onnxruntime

from backends.external_data import external_files, listed_name
from zoo.manifest import ONNX_FILE, Manifest
from zoo.opened_file import OpenedFile
from zoo.opened_folder import OpenedFolder


@dataclass(frozen=True)
class HeldModel:
    """`file`: the ONNX file. `listed`: the other files that may be loaded with it, by their names.

    ONNX Runtime is given these files by their descriptors, and nothing by name.
    """

    file: OpenedFile
    listed: Mapping[str, OpenedFile] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: OpenedFolder, manifest: Manifest) -> Self:
        """The deployment's ONNX file, and the files that it may read weights from."""
        return cls(folder.file(ONNX_FILE), {name: folder.file(name) for name in manifest.files})

    @property
    def path(self) -> Path:
        """The file's, for messages."""
        return self.file.path

    def sha256(self) -> str:
        """Of the ONNX file and of what it reads its weights from. Raises InputError as `source` does."""
        files = [self.file, *(self.listed[listed_name(name)] for name in external_files(self.file, self.listed))]
        return hashlib.sha256(" ".join(file.sha256() for file in files).encode()).hexdigest()

    @contextmanager
    def source(self, settings: onnxruntime.SessionOptions, *, named: bool = False) -> Iterator[str | bytes]:
        """What a session is made of, until it is made; `settings` get what the file reads from other files.

        `named`: under the file's own name, for providers that tell engines apart by it. Raises InputError where the
        file is damaged, or reads from one that is not listed.
        """
        with ExitStack() as held:
            names = external_files(self.file, self.listed)
            contents = [held.enter_context(_mapped(self.listed[listed_name(name)])) for name in names]
            if names:
                lengths = [len(content) for content in contents]
                # ONNX Runtime takes one "./" off each; 1.30 and 1.31 do not where they look it up
                as_found = [f"./{name}" for name in names]
                settings.add_external_initializers_from_files_in_memory(as_found, contents, lengths)
            link = self.file.link
            if link is None:
                yield self.file.read()
            elif named:
                from tempfile import TemporaryDirectory  # a session on the CPU loads without it

                folder = held.enter_context(TemporaryDirectory(prefix="zooport-model-"))
                alias = Path(folder) / self.path.name
                alias.symlink_to(link)
                yield os.fspath(alias)
            else:
                yield link


@contextmanager
def _mapped(file: OpenedFile) -> Iterator[mmap.mmap | bytes]:
    if not file.size:
        yield b""
        return
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content
