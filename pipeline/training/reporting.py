"""One line that says how far a training is."""

from typing import Any

from mmengine.hooks import Hook
from mmengine.runner import Runner

from pipeline.training.best_weights import BestWeights
from zoo.progress import Progress


class ReportProgress(Hook):  # type: ignore[misc]  # mmengine is untyped
    """Calls `progress` with the loss and the last and the best figure, and with the iterations."""

    def __init__(self, progress: Progress, best: BestWeights | None) -> None:
        self.progress, self.best = progress, best

    def before_train(self, runner: Runner) -> None:
        """The first sign."""
        self.progress("training", runner.iter, runner.max_iters)

    def after_train_iter(
        self,
        runner: Runner,
        batch_idx: int,  # noqa: ARG002 - mmengine's
        data_batch: Any = None,  # noqa: ARG002
        outputs: dict[str, Any] | None = None,
    ) -> None:
        """After each step."""
        loss = outputs["loss"].item() if outputs else float("nan")
        words = f"training, loss {loss:.3f}"
        if self.best is not None and self.best.best is not None and self.best.last is not None:
            figure, iteration = self.best.best
            words += f", {self.best.metric} {self.best.last:.2f} (best {figure:.2f} at {iteration})"
        self.progress(words, runner.iter + 1, runner.max_iters)

    def before_val(self, runner: Runner) -> None:
        """A validation takes its time."""
        self.progress("training, validates", runner.iter, runner.max_iters)
