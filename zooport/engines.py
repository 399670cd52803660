"""What runs a verb over many inputs: this process, or a cluster of machines."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from backends.scale.storage import is_uri
from zoo.errors import InputError
from zooport.parser import flag_of

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)


def add_engine_flags(flags: argparse.ArgumentParser) -> None:
    """The engine, and where and on what Ray's actors run."""
    flags.add_argument("--engine", default=LOCAL, metavar="E", help="local (default), or ray: a cluster of machines")
    flags.add_argument(
        "--address", metavar="A", help="ray://HOST:10001, HOST:6379 or auto; default: a cluster on this machine only"
    )
    flags.add_argument("--gpus", type=float, metavar="G", help="of each of Ray's actors, 1 or 0.5; default: none")


def check_engine(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Whether there is such an engine. `names`: of options that only Ray has. Raises InputError."""
    if options.engine not in ENGINES:
        raise InputError(f'--engine "{options.engine}": expected one of {", ".join(ENGINES)}')
    for name in names if options.engine != RAY else ():
        if getattr(options, name) is not None:
            raise InputError(f"{flag_of(name)} is for --engine {RAY}; add that, or leave it out")


def folder_or_uri(text: str) -> Path | str:
    """Of a flag: a folder of this machine, or a URI as it is."""
    return text if is_uri(text) else Path(text)
