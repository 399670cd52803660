"""Calibration keeps away from what judges: an image that ranges were fitted to says too little of others."""

from collections import defaultdict
from collections.abc import Iterable
from filecmp import cmp
from pathlib import Path

from pipeline.evaluation.plan import make_gate_split
from pipeline.job.job import Job
from zoo.config import ModelConfig, Section
from zoo.datasets import config_dataset
from zoo.errors import InputError

SECTION = "calibration_dataset"


def _judges(config: ModelConfig) -> dict[str, Section]:
    """The data sets that judge, by key."""
    sections = {"dataset": config.dataset, "gate_dataset": config.gate_dataset}
    return {key: section for key, section in sections.items() if section is not None}


def check_sections(job: Job) -> None:
    """Raises InputError where the config calibrates on a data set that judges."""
    for name, section in _judges(job.config).items():
        if section == job.config.calibration_dataset:
            raise InputError(
                f"config {job.config.path}: {SECTION} is the config's {name}, which judges; give "
                f"{job.task.kind.plural} of the training set"
            )


def check_files(job: Job, files: Iterable[Path]) -> None:
    """Raises InputError where a calibration image is a file of the data sets that judge, or a copy of one.

    Copies are files of the same bytes; of the data sets only files of the same size are read. Nothing is looked at
    where no metric can judge, and a gate split that is not there yet is made where there are files to compare.
    """
    files = [path for path in files if path.is_file()]
    if not files or job.config.evaluator is None or not job.target.has_results:
        return
    kind = job.task.kind
    for name in _judges(job.config):
        if name == "gate_dataset":
            make_gate_split(job.config)
        dataset = config_dataset(job.config, name)
        if pair := shared(files, (entry.path for entry in dataset.entries)):
            raise InputError(
                f"calibration {kind.noun} {pair[0]} is {pair[1]} of the config's {name}, which judges; give "
                f"{kind.plural} of the training set"
            )


def shared(files: Iterable[Path], judging: Iterable[Path]) -> tuple[Path, Path] | None:
    """The first of `files` with the bytes of one of `judging`, and that one; None where there is none."""
    by_size = defaultdict[int, list[Path]](list)
    for path in judging:
        if path.is_file():
            by_size[path.stat().st_size].append(path)
    pairs = ((path, other) for path in files for other in by_size[path.stat().st_size])
    return next((pair for pair in pairs if cmp(*pair, shallow=False)), None)
