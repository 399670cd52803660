"""A loaded deployment."""

from backends.image_model import ImageModel
from backends.runner import Runner
from zoo.manifest import Manifest
from zoo.tasks import build_task


class Deployment(ImageModel):
    """A model in production. Made by `backends.load`; `manifest` says what it is."""

    def __init__(self, manifest: Manifest, runner: Runner) -> None:
        task = build_task({"type": manifest.task, "classes": manifest.classes, **manifest.task_options})
        super().__init__(manifest.name, task, manifest.preprocess, runner, manifest.output_level)
        self.manifest = manifest

    def __repr__(self) -> str:
        made_for = f"{self.manifest.backend} {self.manifest.precision['stored']}"
        return f"<Deployment {self.manifest.name}: {self.manifest.task}, {made_for}>"
