"""The names of the classes that a checkpoint of OpenMMLab keeps. Needs torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.torch_file import read_torch_file

SAFETENSORS = ".safetensors"


def checkpoint_names(path: Path) -> tuple[str, ...]:
    """Of `meta.dataset_meta.classes`, as mmengine's Runner writes it, or of `meta.CLASSES`; empty where it has none.

    Raises InputError for a file that cannot be read; nothing in it runs.
    """
    if path.suffix == SAFETENSORS:
        return ()
    content: Any = read_torch_file(path)
    meta = content.get("meta") if isinstance(content, Mapping) else None
    if not isinstance(meta, Mapping):
        return ()
    dataset = meta.get("dataset_meta")
    names = dataset.get("classes", dataset.get("CLASSES")) if isinstance(dataset, Mapping) else meta.get("CLASSES")
    is_names = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return tuple(names) if is_names and names is not None else ()
