"""What a training raises that its recipe is the cause of."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from zoo.errors import InputError

OF_BATCH_NORM = "Expected more than 1 value per channel"


@contextmanager
def faults_of_recipe(batch_size: int) -> Iterator[None]:
    """Raises InputError where a batch is too large for the device, or too small for batch norm."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"train.batch_size {batch_size}: the GPU does not have enough memory; give a smaller one, or smaller images"
        ) from error
    except ValueError as error:
        if OF_BATCH_NORM not in str(error):
            raise
        raise InputError(
            f"train.batch_size {batch_size}: batch norm needs at least 2 values per channel; give a larger one"
        ) from error
