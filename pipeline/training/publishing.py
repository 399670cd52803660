"""Publishing: the weights as half-precision safetensors, with their card as data and as a page.

The card (.json) is what counts: it names the weights by their hash, and the page (.md) is rendered from it. So a new
card takes its place first, in one step, when new weights and page already lie complete beside theirs. A run that is
killed or fails before that has changed nothing; after it, `settle` brings the rest into place.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torch import nn

from pipeline.training.checkpoint_card import LICENCE, CheckpointCard, Datasets, Figures
from pipeline.training.checkpoint_page import checkpoint_page
from pipeline.training.recipe import Recipe
from pipeline.training.training_run import TrainingRun
from zoo.errors import InputError


def new_card(
    name: str,
    weights: bytes,
    model: nn.Module,
    figures: Figures,
    datasets: Datasets,
    recipe: Recipe,
    run: TrainingRun,
) -> CheckpointCard:
    """The card of weights that `half_precision_file` gave, to be written as the file `name`."""
    return CheckpointCard(
        file=name,
        bytes=len(weights),
        sha256=hashlib.sha256(weights).hexdigest(),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        licence=LICENCE,
        figures=figures,
        datasets=datasets,
        recipe=recipe.to_dict(),
        training=run,
    )


def publish(card: CheckpointCard, folder: Path, weights: bytes | None = None) -> Path:
    """Puts the card's three files into a folder and gives the card's path; without `weights`, those there stay.

    Raises InputError where they cannot be written; then, and when killed, the old ones or the new ones are there.
    """
    file = folder / card.file
    path, page = file.with_suffix(".json"), file.with_suffix(".md")
    with _as_input_error(folder):
        folder.mkdir(parents=True, exist_ok=True)
        settle(file)
        try:
            if weights is not None:
                _write(_staged(file), weights)
            _write(_staged(page), checkpoint_page(card).encode())
            _write(_staged(path), card.to_json().encode())
            _staged(path).replace(path)
        finally:
            settle(file)
    return path


def settle(file: Path) -> None:
    """Ends a publication of the weights `file` that was cut short: finished if its card is in place, else removed."""
    path, page = file.with_suffix(".json"), file.with_suffix(".md")
    _staged(path).unlink(missing_ok=True)
    if path.is_file():
        card = CheckpointCard.read(path)
        if _staged(file).is_file() and hashlib.sha256(_staged(file).read_bytes()).hexdigest() == card.sha256:
            _staged(file).replace(file)
        text = checkpoint_page(card).encode()
        if not page.is_file() or page.read_bytes() != text:
            if not _staged(page).is_file() or _staged(page).read_bytes() != text:
                _write(_staged(page), text)
            _staged(page).replace(page)
    _staged(file).unlink(missing_ok=True)
    _staged(page).unlink(missing_ok=True)


def check_publishable(file: Path) -> None:
    """Before the long work: can there be new files? Raises InputError."""
    with _as_input_error(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        settle(file)
        _write(_staged(file), b"")
        _staged(file).unlink()


def _staged(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _write(path: Path, content: bytes) -> None:
    """Writes a file and brings it to the disk."""
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _as_input_error(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{folder}: weights and card cannot be written ({error.strerror}); make it writable, and free room there"
        ) from error
