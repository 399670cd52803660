"""The files beside a config that its model is made of: what a hash must hold of them, so that a change shows."""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("zoo", "rewriters", "backends", "pipeline")
"""zooport's own, which no file beside a config may hide."""
DESCRIPTION, TEXTS = "config.json", (".json", ".txt")  # of a folder that save_pretrained wrote: with its tokenizer


def source_hashes(names: Iterable[str], folder: Path) -> dict[str, str]:
    """The sha256 of each of `sources`, by its place in the folder."""
    return {
        file.relative_to(folder.resolve()).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sources(names, folder)
    }


def folder_hashes(folders: Mapping[str, Path]) -> dict[str, str]:
    """The sha256 of the texts in folders that describe a model (they have a config.json), by the folder's name here.

    Weights are not texts: what a checkpoint holds has a hash of its own.
    """
    return {
        f"{name}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()
        for name, folder in folders.items()
        if (folder / DESCRIPTION).is_file()
        for file in sorted(folder.iterdir())
        if file.suffix in TEXTS and file.is_file()
    }


def sources(names: Iterable[str], folder: Path) -> list[Path]:
    """The files in ``folder`` of these modules and of those that they import in turn; of a package all of its own.

    Modules that are imported by other means than an import statement are not followed.
    """
    return sorted(file for files in reached(names, folder).values() for file in files)


def reached(names: Iterable[str], folder: Path) -> Mapping[str, list[Path]]:
    """The names at the top of these modules and of all that their files import, and the files in ``folder`` of each."""
    folder = folder.resolve()
    waiting = [name.partition(".")[0] for name in names]
    files: dict[str, list[Path]] = {}
    while waiting:
        name = waiting.pop()
        if name in files or name in PACKAGES:
            continue
        files[name] = list(_files(name, folder))
        waiting += [imported for file in files[name] for imported in _imported(file)]
    return files


def _files(name: str, folder: Path) -> Iterator[Path]:
    """Of the module or package of this name, where Python finds it in the folder and not elsewhere."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # a module without a spec, such as __main__
        return
    places = [] if spec is None else [*(spec.submodule_search_locations or ()), *filter(None, [spec.origin])]
    for place in (Path(place).resolve() for place in places):
        if place == folder / f"{name}.py":
            yield place
        elif place == folder / name:
            yield from sorted(place.rglob("*.py"))


def _imported(file: Path) -> Iterator[str]:
    """The names at the top of what a file imports; relative imports stay in its package.

    None of a file that Python cannot read: a template, say, which nothing imports.
    """
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield node.module.partition(".")[0]
