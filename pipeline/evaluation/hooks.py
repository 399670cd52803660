"""What happens beside an evaluation: progress, and drawn results."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
from mmengine.hooks import Hook
from mmengine.runner import Runner

from zoo.errors import InputError
from zoo.progress import Progress
from zoo.tasks import Result, Task


class ProgressHook(Hook):  # type: ignore[misc]  # mmengine is untyped
    """Tells ``progress`` (name, images done, images in all) after each batch, and ``tell`` that the metric begins.

    The first process alone has one.
    """

    def __init__(self, progress: Progress, tell: Callable[[str], None], name: str, images: int) -> None:
        self.progress, self.tell, self.name, self.images = progress, tell, name, images
        self.done = 0

    def before_test(self, runner: Runner) -> None:  # noqa: ARG002 - mmengine's
        """The first sign, before the first image."""
        self.progress(self.name, 0, self.images)

    def after_test_iter(
        self,
        runner: Runner,
        batch_idx: int,  # noqa: ARG002 - mmengine's
        data_batch: Sequence[dict[str, Any]] | None = None,
        outputs: Sequence[Result] | None = None,  # noqa: ARG002
    ) -> None:
        """All processes are about equally far."""
        self.done += len(data_batch or ()) * runner.world_size
        self.progress(self.name, min(self.done, self.images), self.images)
        if self.done >= self.images:
            self.tell(f"{self.name}: the metric")


class DrawingHook(Hook):  # type: ignore[misc]  # mmengine is untyped
    """Writes each image with its result drawn on it: ``folder/<number>_<name>.jpg``."""

    def __init__(self, folder: Path, task: Task) -> None:
        self.folder, self.task = folder, task

    def after_test_iter(
        self,
        runner: Runner,  # noqa: ARG002 - mmengine's
        batch_idx: int,  # noqa: ARG002
        data_batch: Sequence[dict[str, Any]] | None = None,
        outputs: Sequence[Result] | None = None,
    ) -> None:
        """Draws one batch. Raises InputError where an image cannot be written."""
        for item, result in zip(data_batch or (), outputs or (), strict=True):
            path = self.folder / f"{item['number']:06d}_{Path(item['path']).stem}.jpg"
            value = item[self.task.input_kind]
            drawing = self.task.with_truth(self.task.draw(value, result), value, item)
            if not cv2.imwrite(str(path), drawing):
                raise InputError(f"{path}: cannot be written; give another --show-dir")
