"""A loaded deployment."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from backends.model import Model
from backends.runner import Runner
from backends.slide_runner import SlideRunner
from zoo.manifest import Manifest
from zoo.preprocess import Array
from zoo.tasks import Result

if TYPE_CHECKING:
    from backends.self_test.check import Checked


class Deployment(Model):
    """A model in production. Made by `backends.load`; `manifest` says what it is.

    `note`: what runs it instead of its own backend, as in a proof; None if its own backend runs it. `self_test`: the
    content of the folder's SELF_TEST_FILE, if it has one. `workers`: see Model.
    """

    def __init__(
        self,
        manifest: Manifest,
        runner: Runner,
        note: str | None = None,
        self_test: bytes | None = None,
        workers: int | None = None,
    ) -> None:
        task = manifest.build_task()
        super().__init__(manifest.name, task, manifest.preprocess, runner, manifest.output_level, workers)
        self.manifest = manifest
        self.note = note
        self.self_test = self_test

    def check(self) -> "Checked":
        """Run the self-test on the provider and threads of this deployment. The result has a text and all figures.

        Raises SelfTestFailedError (exit code 3) if an output differs from the proved one by more than its gate, and
        InputError if the deployment has no self-test.
        """
        from backends.self_test.check import check  # a production start without a check need not pay for it

        return check(self.manifest, self.task.roles, self.runner, self.self_test)

    @property
    def _chunk_size(self) -> int:
        return 1 if isinstance(self.runner, SlideRunner) else super()._chunk_size

    def _run_batch(
        self, images: Sequence[Array], settings: Mapping[str, Array], mark: Callable[[], object] = lambda: None
    ) -> list[Result]:
        """Images that the backend cuts into windows are never a whole tensor, so that they may be of any size."""
        if not isinstance(self.runner, SlideRunner):
            return super()._run_batch(images, settings, mark)
        results: list[Result] = []
        for image in images:
            placed = self.rule.placed(image)
            mark()
            outputs = self.runner.run_source(placed, placed.geometry.tensor_size)
            mark()
            results += self.task.results(outputs, [placed.geometry])
            mark()
        return results

    def __repr__(self) -> str:
        made_for = f"{self.manifest.backend} {self.manifest.precision['stored']}"
        note = "" if self.note is None else f", {self.note}"
        return f"<Deployment {self.manifest.name}: {self.manifest.task}, {made_for}{note}>"
