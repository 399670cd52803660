"""What `zooport benchmark` is asked for, checked before anything is loaded."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from backends.benchmark.case import DeploymentSubject, Setting, Subject
from backends.load_arguments import check_threads
from zoo.errors import InputError
from zoo.manifest import Manifest
from zooport.parser import check_counts, flag_of
from zooport.writable import check_writable


def check_options(options: argparse.Namespace) -> None:
    """Raises InputError."""
    check_counts(options, "rounds")
    for name in ("batch", "workers"):
        for count in getattr(options, name) or ():
            if count < 1:
                raise InputError(f"{flag_of(name)} {count}: expected 1 or more")
    for threads in options.threads or ():
        check_threads(threads)
    if options.cold < 0:
        raise InputError(f"--cold {options.cold}: expected 0 or more")
    for name in ("config", "checkpoint"):
        if getattr(options, name) is not None and not options.against:
            raise InputError(f"{flag_of(name)} is for --against, which builds the model; leave it out")
    _check_page(options)


def _check_page(options: argparse.Namespace) -> None:
    if options.page is not None:
        if options.page.is_dir() or not options.page.absolute().parent.is_dir():
            raise InputError(f"--page {options.page}: not a file in an existing folder; give one")
        check_writable(options.page.absolute().parent, f"--page {options.page}", "give another file")
    if options.open and options.page is None:
        raise InputError("--open without --page: give --page and a file for the page")


def settings_of(options: argparse.Namespace) -> list[Setting]:
    """Every combination, without those that are given twice."""
    return [
        Setting(threads, batch, workers)
        for threads in dict.fromkeys(options.threads or [None])
        for workers in dict.fromkeys(options.workers or [None])
        for batch in dict.fromkeys(options.batch)
    ]


@contextmanager
def subjects_of(options: argparse.Namespace, images: Sequence[Any]) -> Iterator[list[Subject]]:
    """The baselines, which the deployments are compared with, and the deployments, each once."""
    folders = list(dict.fromkeys(options.deployment))
    deployments: list[Subject] = [DeploymentSubject(folder, folder, options.device) for folder in folders]
    if not options.against:
        yield deployments
        return
    from pipeline.baselines.baseline import Request
    from pipeline.baselines.registry import get_baseline

    manifest = Manifest.read(folders[0])
    manifest.check_results(folders[0])
    known = [get_baseline(name) for name in dict.fromkeys(options.against)]
    for baseline in known:
        baseline.check(manifest)
    with TemporaryDirectory(prefix="zooport-benchmark-") as scratch:
        request = Request(
            folder=Path(folders[0]),
            manifest=manifest,
            device=options.device,
            config=options.config,
            checkpoint=options.checkpoint,
            images=images,
            batches=options.batch,
            scratch=Path(scratch),
        )
        yield [*(baseline.subject(request) for baseline in known), *deployments]
