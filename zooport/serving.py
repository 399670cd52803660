"""The application of Ray Serve: `serve run zooport.serving:app deployment=FOLDER image=street.jpg name=cars`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backends.serving.served_model import ServedModelSettings
from zoo.errors import InputError, ZooportError, nearest
from zoo.manifest import Manifest
from zoo.optional_library import optional_library

EXTRA = "ray-serve"
COUNTS = {"replicas": 1, "threads": 1, "queue": 64}
NAMES = ("deployment", "image", "name", "device", "gpus", "check", *COUNTS)
WORDS = {"true": True, "false": False}


def app(arguments: dict[str, Any]) -> Any:
    """The application, as `serve run` or the args of a Ray Serve config file describe it.

    `deployment`: a folder that zooport deploy wrote, at the same path on each machine. `image`: a file for the first
    call and for the health checks. `name`: of the model; the manifest's if left out. `replicas` (1), `threads` of each
    (1), `gpus` of each (0), `queue` (64): requests that may wait. `device`: as of `zooport predict`. `check`: whether
    each replica runs the self-test first.

    Raises click.ClickException, which `serve run` prints as one line.
    """
    import click  # Ray's command line is made with it

    try:
        return _application(arguments)
    except ZooportError as error:

        class Refusal(click.ClickException):
            exit_code = error.exit_code

        raise Refusal(str(error)) from error


def _application(arguments: Mapping[str, Any]) -> Any:
    for name in arguments:
        if name not in NAMES:
            raise InputError(f'unknown argument "{name}"; {nearest(name, NAMES)}')
    for name in ("deployment", "image"):
        if not arguments.get(name):
            raise InputError(f"{name} is missing; expected deployment=FOLDER image=FILE")
    folder, image = Path(str(arguments["deployment"])).absolute(), Path(str(arguments["image"]))
    manifest = Manifest.read_verified(folder)
    if manifest.output_level != "final":
        raise InputError(f'{folder}: output level "{manifest.output_level}" has no results; deploy level final')
    manifest.build_task().kind.read(image)
    counts = {name: _count(name, arguments.get(name, count)) for name, count in COUNTS.items()}
    settings = ServedModelSettings(
        name=str(arguments.get("name", manifest.name)),
        folder=folder,
        image=image.read_bytes(),
        provider=arguments.get("device"),
        threads=counts["threads"],
        check=_is_true("check", arguments.get("check", False)),
    )
    gpus = _share(arguments.get("gpus", 0))
    for library in ("fastapi", "ray.serve"):
        optional_library(library, EXTRA, "zooport.serving")
    from backends.serving.ray_serve import Replicas, application

    return application(settings, Replicas(counts["replicas"], gpus, counts["queue"]))


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not str(value).isdecimal() or not int(str(value)):
        raise InputError(f"{name}={value}: expected an integer, 1 or more")
    return int(str(value))


def _share(value: object) -> float:
    try:
        gpus = float(str(value))
    except ValueError:
        gpus = -1.0
    if not 0 <= gpus < float("inf"):
        raise InputError(f"gpus={value}: expected 0 or more")
    return gpus


def _is_true(name: str, value: object) -> bool:
    word = str(value).lower()
    if word not in WORDS:
        raise InputError(f"{name}={value}: expected true or false")
    return WORDS[word]
