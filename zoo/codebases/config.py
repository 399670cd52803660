"""A config of OpenMMLab, merged with its bases, and the parts of it that a deployment needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.codebases.values import SECTION, read
from zoo.errors import InputError

DATALOADERS = ("test_dataloader", "val_dataloader")
PIPELINES = ("test_pipeline", "val_pipeline")
EVALUATORS = ("test_evaluator", "val_evaluator")
PREPROCESSOR = "data_preprocessor"


@dataclass(frozen=True)
class CodebaseConfig:
    """`path`: the file. `content`: what it and its bases assign, as plain dicts, lists, strings and numbers."""

    path: Path
    content: Mapping[str, Any]

    @property
    def model(self) -> Mapping[str, Any]:
        """The section `model`. Raises InputError where there is none."""
        model: Mapping[str, Any] = read(self.content, "model", SECTION, str(self.path))
        return model

    @property
    def preprocessor(self) -> Mapping[str, Any]:
        """The data preprocessor: the model's own, else the file's; empty where there is none.

        Raises InputError for something else.
        """
        owner = self.model if self.model.get(PREPROCESSOR) else self.content
        preprocessor: Mapping[str, Any] = read(owner, PREPROCESSOR, SECTION, str(self.path), {})
        return preprocessor

    @property
    def dataset(self) -> Mapping[str, Any]:
        """The data set of the test, without the wrappers around it; empty where there is none."""
        innermost: Mapping[str, Any] = {}
        for dataset in self._datasets():
            innermost = dataset
            if not isinstance(dataset.get("dataset"), Mapping):
                break
        return innermost

    @property
    def pipeline(self) -> Sequence[Mapping[str, Any]]:
        """The transforms of the test. Raises InputError where there are none."""
        pipelines = [dataset.get("pipeline") for dataset in self._datasets()]
        pipelines += [self.content.get(key) for key in PIPELINES]
        for pipeline in pipelines:
            if isinstance(pipeline, list | tuple) and pipeline:
                return pipeline
        raise InputError(
            f"{self.path}: no test_dataloader.dataset.pipeline and no test_pipeline, which say how an image becomes a "
            "tensor; add one"
        )

    @property
    def class_names(self) -> tuple[str, ...]:
        """What the data set's own `metainfo` in the config calls its classes; empty where it does not say."""
        for dataset in self._datasets():
            metainfo = dataset.get("metainfo")
            names = metainfo.get("classes") if isinstance(metainfo, Mapping) else None
            if isinstance(names, list | tuple):
                return tuple(map(str, names))
        return ()

    @property
    def evaluator(self) -> Sequence[Mapping[str, Any]]:
        """The evaluators of the test."""
        for key in EVALUATORS:
            if evaluator := self.content.get(key):
                return evaluator if isinstance(evaluator, list | tuple) else [evaluator]
        return ()

    def _datasets(self) -> Iterator[Mapping[str, Any]]:
        """Of the test, then of the validation; a wrapper comes before what it wraps."""
        for key in DATALOADERS:
            dataset = read(self.content, key, SECTION, str(self.path), {}).get("dataset")
            while isinstance(dataset, Mapping):
                yield dataset
                dataset = dataset.get("dataset")


def type_name(kind: object) -> str:
    """The bare name of a type: "EncoderDecoder" of "mmseg.EncoderDecoder" and of "mmseg::EncoderDecoder"."""
    return str(kind).replace("::", ".").rpartition(".")[2]


def scope_of(kind: object) -> str:
    """The scope before the name of a type, "mmseg"; empty where there is none."""
    prefix, dot, _ = str(kind).replace("::", ".").partition(".")
    return prefix if dot else ""
