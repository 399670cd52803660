"""One model over the data set, through mmengine's test loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mmengine.dataset import DefaultSampler
from mmengine.dist import all_gather_object, barrier
from mmengine.evaluator import Evaluator
from mmengine.hooks import Hook
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from torch import nn
from torch.utils.data import DataLoader

from backends.model import Model
from pipeline.evaluation.evaluated_model import EvaluatedModel
from pipeline.evaluation.indexed_dataset import IndexedDataset
from pipeline.evaluation.result_store import ResultStore
from zoo.metrics.metric import Metric

SCOPE = "zoo"
NO_HOOKS = dict.fromkeys(("runtime_info", "timer", "sampler_seed", "logger", "param_scheduler", "checkpoint"))


@dataclass(frozen=True)
class Judged:
    """``figures`` on all images; ``per_image``: the metric's entries in the order of the data set, in the first process
    alone; ``seconds`` of each image; ``resumed``: how many of them an earlier run had done.
    """

    figures: Mapping[str, float]
    per_image: list[object]
    seconds: tuple[float, ...]
    resumed: int = 0


class TestRunner(Runner):  # type: ignore[misc]  # mmengine is untyped
    """mmengine's Runner, which would wrap the model for distributed training and move it to a device of its choice."""

    def wrap_model(self, model_wrapper_cfg: Mapping[str, Any] | None, model: nn.Module) -> nn.Module:  # noqa: ARG002
        """The model as it is."""
        return model


def judge(
    model: Model,
    dataset: IndexedDataset,
    metric: Metric | None,
    store_file: Path,
    earlier: frozenset[int],
    *,
    batch_size: int,
    hooks: Sequence[Hook],
    launcher: str,
    collect_dir: Path,
) -> Judged:
    """The metric's figures for one model; every image's result goes through the store in ``store_file``.

    ``earlier``: the images that an earlier run has left results for. ``collect_dir``: where the processes of this run
    alone put together what they found.

    Several processes each take every n-th image (mmengine's DefaultSampler); mmengine puts the metric's entries into
    the data set's order again and drops those that fill up an uneven last round.
    """
    if metric is not None:
        metric.collect_dir = str(collect_dir)
    # a Runner sets mmengine's default scope for the whole process, and would leave it so
    scope = DefaultScope.overwrite_default_scope(SCOPE)
    with ResultStore(store_file) as store, TemporaryDirectory() as logs, scope:
        evaluated = EvaluatedModel(model, store, earlier)
        runner = TestRunner(
            model=evaluated,
            work_dir=logs,  # mmengine insists on one
            test_dataloader=DataLoader(
                dataset, batch_size, sampler=DefaultSampler(dataset, shuffle=False, seed=0), collate_fn=list
            ),
            test_cfg={},
            test_evaluator=Evaluator([] if metric is None else [metric]),
            default_hooks=NO_HOOKS,
            custom_hooks=list(hooks),
            launcher=launcher,
            default_scope=SCOPE,
            experiment_name=Path(logs).name,  # mmengine adds the second, which two evaluations can share
        )
        try:
            figures: dict[str, float] = runner.test()
        finally:
            for handler in list(runner.logger.handlers):  # mmengine keeps its logger, and would write into the folder
                runner.logger.removeHandler(handler)
                handler.close()
        barrier()  # the other processes have written, too
        resumed = len(set().union(*all_gather_object(evaluated.reused)))
        seconds = store.seconds(range(len(dataset)))
    per_image = [] if metric is None else metric.per_image
    return Judged(figures, per_image, seconds, resumed)
