"""What `zooport predict` is asked for, checked before anything runs."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backends.serving.address import is_address, parse_address
from zoo.errors import InputError, nearest
from zoo.sources import Source
from zoo.tables import TABLES, Table
from zoo.tables.coco import CocoTable
from zoo.tables.image_ids import AnnotatedImages
from zoo.tables.journal import LIVE
from zoo.tables.output import DRAWN_IMAGE, check_folder
from zoo.tasks import Task
from zooport.parser import check_counts, flag_of
from zooport.writable import check_writable

FILES = "files"
FORMATS = (FILES, *TABLES)


def check_options(options: argparse.Namespace) -> None:
    """What the flags say by themselves. Raises InputError."""
    check_counts(options, "limit", "workers")
    for name in options.format:
        if name not in FORMATS:
            raise InputError(f'--format: unknown format "{name}"; {nearest(name, FORMATS)}')
    if options.score is not None and not 0 <= options.score <= 1:
        raise InputError(f"--score {options.score:g}: expected a number from 0 to 1, for example 0.3")
    for name in ("draw", "resume", "format"):
        if options.out is None and getattr(options, name):
            raise InputError(f"{flag_of(name)} without --out: give --out and a folder for what is written")
    if options.annotations is not None and CocoTable.name not in options.format:
        raise InputError(f"--annotations is for --format {CocoTable.name}; add it, or leave --annotations out")
    _check_address(options)
    for path in options.image:
        if not Path(path).is_file():
            what = "not a file; name a folder as SOURCE" if Path(path).exists() else "no such file"
            raise InputError(f"--image {path}: {what}")
    if not options.image and not options.source:
        sources = "an image, a folder, a glob, a video, a camera's number, a URL, or - for a list"
        raise InputError(f"no SOURCE: give {sources}")


def _check_address(options: argparse.Namespace) -> None:
    """Of a model behind a server."""
    if is_address(options.deployment):
        parse_address(options.deployment)
        if options.device is not None:
            raise InputError(f"--device with {options.deployment}: the server chooses the device; leave it out")


def graph_inputs(flags: Sequence[str]) -> dict[str, float]:
    """From NAME=NUMBER. Raises InputError; what the model knows, it says itself."""
    inputs: dict[str, float] = {}
    for flag in flags:
        name, _, text = flag.partition("=")
        if name in inputs:
            raise InputError(f"--input {flag}: {name} is given twice")
        try:
            inputs[name] = float(text)
        except ValueError as error:
            raise InputError(f"--input {flag}: expected NAME=NUMBER, for example scale=2") from error
    return inputs


def check_task(options: argparse.Namespace, task: Task) -> None:
    """What the task can be asked for. Raises InputError."""
    if not task.result_type.has_scores and (options.score is not None or options.classes):
        flag = "--classes" if options.score is None else "--score"
        raise InputError(f"{flag}: task {task.name} has no scores to filter by; leave it out")
    if options.classes:
        task.class_ids(options.classes)


def tables_of(options: argparse.Namespace, task: Task, sources: Sequence[Source]) -> list[Table]:
    """The tables that are asked for. Raises InputError where the task, or the annotation file, has no such thing."""
    tables = [TABLES[name](task) for name in dict.fromkeys(options.format) if name != FILES]
    if options.annotations is not None:
        images = AnnotatedImages(options.annotations)
        for source in sources:
            images.of(source.label)
        for table in tables:
            table.take_image_ids(images)
    return tables


def check_sources(options: argparse.Namespace, task: Task, sources: Sequence[Source], tables: Sequence[Table]) -> None:
    """That what is written overwrites nothing, and can be written. Raises InputError."""
    if options.resume and (live := next((source for source in sources if source.live), None)):
        raise InputError(f"--resume: {live.label} cannot be read again from where it stopped; leave --resume out")
    suffixes = task.suffixes if FILES in formats_of(options) else ()
    suffixes = (*suffixes, DRAWN_IMAGE) if options.draw else suffixes
    check_folder(options.out, sources, suffixes, [name for table in tables for name in table.files])
    out = options.out.resolve()
    for folder in [Path(given).resolve() for given in options.source if Path(given).is_dir()]:
        if out == folder or (options.recursive and out.is_relative_to(folder)):
            raise InputError(f"--out {options.out}: drawn images would be read as images again; give another folder")
    check_writable(options.out, f"--out {options.out}", "give another folder", make=True)


def formats_of(options: argparse.Namespace) -> list[str]:
    """What is written of each result."""
    return options.format or [FILES]


def settings_of(options: argparse.Namespace, deployment: Mapping[str, str], *, live: bool) -> Mapping[str, Any]:
    """What a run that goes on must have in common with the one before. ``deployment``: the hashes of its files.
    ``live``: whether a source cannot be read again.
    """
    names = ("score", "classes", "input", "draw")
    return {
        "deployment": deployment,
        **{name: getattr(options, name) for name in names},
        "format": sorted(set(formats_of(options))),
        LIVE: live and formats_of(options) != [FILES],  # each frame has files of its own
    }
