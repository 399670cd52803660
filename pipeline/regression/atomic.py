"""Files that are there whole or not at all."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text file beside its place and move it there in one step. Folders above it are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}.new")
    with staged.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    staged.replace(path)
