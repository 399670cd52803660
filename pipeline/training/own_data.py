"""Data of one's own, checked before a training begins."""

from zoo.config import ModelConfig
from zoo.datasets import EvaluationDataset, config_dataset
from zoo.datasets.files.faults import Faults
from zoo.errors import InputError
from zoo.progress import Progress


def own_dataset(config: ModelConfig, progress: Progress | None = None) -> EvaluationDataset:
    """The config's ``train_dataset``, each image decoded once; `progress` counts them.

    Raises InputError with all faults of the files together, and where the truth is not what the task learns from.
    """
    section = config.train_dataset
    assert section is not None
    dataset = config_dataset(config, "train_dataset")
    if not len(dataset):
        raise InputError(
            f"config {config.path}: train_dataset {section['type']} has no {config.task.kind.plural}; correct its paths"
        )
    truth = dataset.truth(0)
    if missing := [key for key in config.task.truth if key not in truth]:
        raise InputError(
            f"config {config.path}: train_dataset {section['type']} has no {', '.join(missing)}, which "
            f"{config.task.name} learns from; give a data set with {', '.join(config.task.truth)}"
        )
    if not dataset.is_generated:
        _check_inputs(dataset, f"training {config.task.kind.plural} are read", progress)
    return dataset


def _check_inputs(dataset: EvaluationDataset, step: str, progress: Progress | None) -> None:
    """Raises InputError with all inputs that cannot be decoded: not in the middle of a night's training."""
    faults = Faults(type(dataset).__name__)
    for index, entry in enumerate(dataset.entries):
        try:
            dataset.image_item(index)
        except InputError as error:
            faults.add(entry.path, str(error).removeprefix(f"{entry.path}: "))
        if progress is not None:
            progress(step, index + 1, len(dataset))
    faults.raise_any()
