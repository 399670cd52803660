"""A deployment over many inputs by Ray Data: blocks through a pool of actors, each kept in a file of its own."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from backends.scale.blocks import Block
from backends.scale.cluster import Actors
from backends.scale.object_store import fetched, stored
from backends.scale.part import count_faults
from backends.scale.pool import computed
from backends.scale.predictor import BlockPredictor, PredictionJob
from backends.scale.refusal import raise_refusal
from backends.scale.run_folder import RunFolder, part_name
from zoo.errors import InputError
from zoo.files.locks import locked
from zoo.tables.parquet import text_of

READERS = 16  # of the ends of files that an earlier run has written


@dataclass(frozen=True)
class FinishedBlock:
    """How many images it has, and a line for each of them that has a fault."""

    images: int
    faults: list[str]


@dataclass(frozen=True)
class Extent:
    """What a run has before it: images and blocks in all, and what an earlier run has finished of them."""

    images: int
    blocks: int
    images_finished: int
    faults_finished: int


@contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Make the folder, keep other runs on this machine out of it, and look again at what is in it.

    Raises InputError if there is another run, or if one has begun since the first look. Staged files of killed runs are
    removed from a folder that is locked; in another one, they could be those of a run on another machine.
    """
    folder.storage.make_folder()
    with ExitStack() as lock:
        if folder.storage.is_local:
            try:
                lock.enter_context(locked(Path(folder.storage.path), wait=False))
            except BlockingIOError as error:
                raise InputError(
                    f"{folder.storage.location}: another run is writing into it; wait until it has ended, or give "
                    "another folder"
                ) from error
            folder.storage.remove_staged()
        folder.look_again()
        yield


def extent(folder: RunFolder) -> Extent:
    """Raises InputError for a plan, or a part, that is damaged."""
    images = blocks = images_finished = 0
    for block in folder.blocks():
        images += block.images
        blocks += 1
        images_finished += block.images * (block.number in folder.finished)
    return Extent(images, blocks, images_finished, _faults(folder))


def predict_blocks(ray: Any, folder: RunFolder, job: PredictionJob, actors: Actors) -> Iterator[FinishedBlock]:
    """Compute the blocks that are not finished, in no order. Raises ZooportError for what an actor refuses."""
    deployment = replace(job.deployment, contents=stored(ray, job.deployment.contents))
    job = replace(job, deployment=deployment)
    rows = (_row(block) for block in folder.blocks() if block.number not in folder.finished)
    for row in computed(ray, BlockPredictor, (job, fetched), rows, actors):
        raise_refusal(row["refused"])
        yield FinishedBlock(int(row["images"]), json.loads(row["faults"]))


def _row(block: Block) -> dict[str, Any]:
    return {"name": text_of(block.name), "block": block.number, "inputs": json.dumps(block.inputs)}


def _faults(folder: RunFolder) -> int:
    """Of the blocks that are finished."""

    def of(number: int) -> int:
        name = part_name(number)
        try:
            return count_faults(folder.storage, name)
        except (OSError, ValueError) as error:
            where = f"{folder.storage.location}/{name}"
            raise InputError(f"{where}: is damaged ({error}); remove it, and continue with --resume") from error

    with ThreadPoolExecutor(READERS) as pool:
        return sum(pool.map(of, folder.finished))
