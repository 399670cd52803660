"""A deployment that travels to the machines that run it: no storage has to be shared for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from backends import load
from backends.deployment import Deployment
from zoo.errors import InputError
from zoo.manifest import Manifest
from zoo.opened_folder import MANIFEST_FILE, OpenedFolder, read_whole

THREADS = 1  # of each actor: as many actors as CPUs give the highest throughput


@dataclass(frozen=True)
class ShippedDeployment:
    """`name`: its folder, for messages. `contents`: a file's content by its name, or what `fetch` turns into that."""

    name: str
    contents: Any
    provider: str | None = None

    def opened(self, contents: Mapping[str, bytes]) -> Deployment:
        """The deployment on one thread, whose hashes are right. Raises as `load` does, with the name of the folder."""
        with TemporaryDirectory(prefix="zooport-deployment-") as folder:
            for name, content in contents.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            try:
                return load(folder, provider=self.provider, threads=THREADS)
            except InputError as error:
                raise InputError(str(error).replace(folder, self.name)) from error


def deployment_contents(folder: str | Path) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest, and all files that it names, of one deployment. Raises InputError for files that have changed."""

    def read(opened: OpenedFolder) -> tuple[Manifest, dict[str, bytes]]:
        manifest = Manifest.read(opened)
        manifest.verify(opened)
        return manifest, {name: opened.file(name).read() for name in (MANIFEST_FILE, *manifest.files)}

    return read_whole(folder, read)
