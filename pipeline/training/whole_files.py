"""Checkpoints that are on the disk whole or not at all, as mmengine's Runner writes them."""

from pathlib import Path

from mmengine.fileio import LocalBackend, register_backend

from zoo.files.writing import write_whole

BACKEND_ARGS = {"backend": "whole-files"}
"""What a CheckpointHook is given for them."""


class WholeFiles(LocalBackend):  # type: ignore[misc]  # mmengine is untyped
    """mmengine's own writes into the place: a run that is killed meanwhile would leave half a checkpoint there."""

    def put(self, obj: bytes, filepath: str | Path) -> None:
        """Writes beside the place, and moves the file there."""
        write_whole(Path(filepath), obj, make_folders=True)


register_backend(BACKEND_ARGS["backend"], WholeFiles, force=True)
