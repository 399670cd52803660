"""What `--engine ray` is asked for by `predict` and `evaluate`, checked before anything runs."""

import argparse

from backends.scale.cluster import GPUS, check_address, is_gpus
from backends.serving.address import is_address
from zoo.errors import InputError
from zoo.sources.finding import LIST
from zooport.engines import RAY
from zooport.parser import check_counts, flag_of


def check_ray_options(options: argparse.Namespace) -> None:
    """Of `zooport predict`. Raises InputError."""
    check_counts(options, "limit", "workers", "block_size")
    for name in ("draw", "format", "annotations"):
        if getattr(options, name):
            raise InputError(f"{flag_of(name)} with --engine {RAY}, which writes Parquet; leave it out")
    if is_address(options.deployment):
        raise InputError(f"--engine {RAY} with {options.deployment}: actors load a deployment; give its folder")
    if options.out is None:
        raise InputError(f"--engine {RAY} without --out: give --out and a folder for the results, or a URI of one")
    check_cluster(options)
    if options.score is not None and not 0 <= options.score <= 1:
        raise InputError(f"--score {options.score:g}: expected a number from 0 to 1, for example 0.3")
    if not options.image and not options.source:
        raise InputError("no SOURCE: give an image, a folder, a glob, a Parquet file, or a URI of one of these")
    if LIST in options.source:
        raise InputError(f"SOURCE {LIST} with --engine {RAY}: a list is read once; name files, folders or globs")


def check_ray_evaluation(options: argparse.Namespace) -> None:
    """Of `zooport evaluate`. Raises InputError."""
    if options.show_dir is not None:
        raise InputError(f"--show-dir with --engine {RAY}, whose actors draw nothing; leave it out")
    if options.launcher != "none":
        raise InputError(f"--launcher {options.launcher} with --engine {RAY}: give one of the two")
    check_cluster(options)


def check_cluster(options: argparse.Namespace) -> None:
    """The flags that say where the actors run. Raises InputError."""
    check_counts(options, "workers")
    if options.gpus is not None and not is_gpus(options.gpus):
        raise InputError(f"--gpus {options.gpus:g}: expected for each actor {GPUS}")
    if options.address is not None:
        check_address(options.address)
