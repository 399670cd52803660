"""A run of a model as it is, in eager PyTorch (torch-free)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zoo.downloads import RUNS, refused_downloads
from zoo.errors import InputError, ZooportError
from zoo.own_code import library_place, place_of, reason_of


class ModelRunError(InputError):
    """A model refuses what it is given. Its cause is what the library that defines it has raised."""


@contextmanager
def model_run(*inputs: Any) -> Iterator[None]:
    """An unpatched model runs in here, on tensors or arrays: downloads are refused.

    Raises ModelRunError where a library's code raises an error, which is no fault of zooport: a transformer that was
    built for images of one size gets another. What a user's own code raises, and zooport's, stays what it is.
    """
    with refused_downloads("the model", RUNS):
        try:
            yield
        except ZooportError:
            raise
        except Exception as error:
            if place_of(error) is not None or (place := library_place(error)) is None:
                raise
            shapes = " and ".join(str(list(array.shape)) for array in inputs)
            raise ModelRunError(
                f"the model does not run in PyTorch on {shapes}: {reason_of(error)}, at {place}; give it the size that "
                "it is built for (preprocess, export.inputs), or correct its config"
            ) from error
