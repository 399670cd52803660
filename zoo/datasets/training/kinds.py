"""The training samples of an input kind."""

from importlib import import_module
from typing import Any

from zoo.errors import InputError
from zoo.input_kinds import InputKind


def samples_of(kind: InputKind) -> Any:
    """The class that makes training samples of the items of a data set, by the kind's `training_class`.

    It takes the data set, the number of samples, and by keyword `rule`, `scale`, `mirror` and `seed`; where its `sized`
    is true also `crop`, the size (height, width) of its tensors, else `turn`, degrees. Its `collate` makes a batch.
    Raises InputError where the kind has none.
    """
    if kind.training_class is None:
        raise InputError(
            f"models that take a {kind.noun} are not trained here; train elsewhere, and give the checkpoint"
        )
    module, _, name = kind.training_class.partition(":")
    return getattr(import_module(module), name)
