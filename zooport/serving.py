"""The application of Ray Serve: `serve run zooport.serving:app deployment=FOLDER image=street.jpg name=cars`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backends.registry import get_backend
from backends.scale.cluster import GPUS, Actors, cluster_words, is_gpus, room_for
from backends.serving.address import check_name
from backends.serving.protocol import check_outputs
from backends.serving.served_model import ServedModelSettings
from zoo.errors import InputError, ZooportError, nearest
from zoo.manifest import Manifest
from zoo.manifest_schema import MAX_THREADS
from zoo.optional_library import optional_library
from zoo.printable import printable

EXTRA = "ray-serve"
COUNTS = {"replicas": (1, 10_000), "threads": (1, MAX_THREADS), "queue": (64, 1_000_000)}
"""Name -> its default, and the most that is taken."""
SECONDS = {"arrival": 60.0, "patience": 60.0}
DAY = 86400.0
SHOWN = 40  # characters of a wrong value
NAMES = ("deployment", "image", "name", "device", "gpus", "check", *COUNTS, *SECONDS)
WORDS = {"true": True, "false": False}


def app(arguments: dict[str, Any]) -> Any:
    """The application, as `serve run` or the args of a Ray Serve config file describe it.

    `deployment`: a folder that zooport deploy wrote, at the same path on each machine. `image`: a file for the first
    call and for the health checks. `name`: of the model; the manifest's if left out. `replicas` (1), `threads` of each
    (1), `gpus` of each (0), `queue` (64): requests that may wait. `arrival` (60): seconds that a request may take to
    arrive. `patience` (60): seconds that a computation may take, see Replicas. `device`: as of `zooport predict`.
    `check`: whether each replica runs the self-test first.

    Raises click.ClickException, which `serve run` prints as one line. It is also raised for more replicas than the
    cluster has room for, if Ray is connected already: that of a config file is.
    """
    import click  # Ray's command line is made with it

    try:
        return _application(arguments)
    except ZooportError as error:

        class Refusal(click.ClickException):
            exit_code = error.exit_code

        raise Refusal(printable(str(error))) from error


def _application(arguments: Mapping[str, Any]) -> Any:
    for name in arguments:
        if name not in NAMES:
            raise InputError(f'unknown argument "{name}"; {nearest(name, NAMES)}')
    for name in ("deployment", "image"):
        if not arguments.get(name):
            raise InputError(f"{name} is missing; expected deployment=FOLDER image=FILE")
    folder, image = Path(str(arguments["deployment"])).absolute(), Path(str(arguments["image"]))
    manifest = Manifest.read_verified(folder)
    manifest.check_results(folder)
    check_outputs(manifest.name, [spec.name for spec in manifest.outputs])
    manifest.build_task().kind.read(image)
    counts = {name: _count(name, arguments.get(name, default)) for name, (default, _) in COUNTS.items()}
    seconds = {name: _seconds(name, arguments.get(name, default)) for name, default in SECONDS.items()}
    name, device = str(arguments.get("name", manifest.name)), arguments.get("device")
    check_name(name)
    if device is not None:
        get_backend(manifest.backend).check_provider(str(device))
    settings = ServedModelSettings(
        name=name,
        folder=folder,
        image=image.read_bytes(),
        provider=None if device is None else str(device),
        threads=counts["threads"],
        check=_is_true("check", arguments.get("check", False)),
    )
    gpus = _share(arguments.get("gpus", 0))
    optional_library("fastapi", EXTRA, "zooport.serving")
    ray = optional_library("ray", EXTRA, "zooport.serving")
    optional_library("ray.serve", EXTRA, "zooport.serving")
    if ray.is_initialized():
        check_room(ray.nodes(), Actors(counts["replicas"], counts["threads"], gpus))
    from backends.serving.ray_serve import Replicas, application

    return application(settings, Replicas(counts["replicas"], gpus, counts["queue"], **seconds))


def check_room(nodes: list[Mapping[str, Any]], replicas: Actors) -> None:
    """Raises InputError for more replicas than have room. `nodes`: as `ray.nodes()` gives them."""
    room = room_for(nodes, replicas)
    if replicas.size > room:
        each = f"threads={replicas.cpus:g}" + (f" and gpus={replicas.gpus:g}" if replicas.gpus else "")
        raise InputError(
            f"replicas={replicas.size} of {each}: {cluster_words(nodes, replicas.gpus)}, so {replicas.size - room} of "
            "them would never start; give fewer replicas or threads, or add machines"
        )


def _count(name: str, value: object) -> int:
    _, most = COUNTS[name]
    text = str(value)
    if isinstance(value, bool) or not (text.isdecimal() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise InputError(f"{name}={text[:SHOWN]}: expected an integer from 1 to {most}")
    return int(text)


def _share(value: object) -> float:
    gpus = _number(value)
    if gpus != 0 and not is_gpus(gpus):
        raise InputError(f"gpus={str(value)[:SHOWN]}: expected 0, {GPUS}")
    return gpus


def _seconds(name: str, value: object) -> float:
    seconds = _number(value)
    if not 0 < seconds <= DAY:
        raise InputError(f"{name}={str(value)[:SHOWN]}: expected seconds, more than 0 and at most {DAY:g}")
    return seconds


def _number(value: object) -> float:
    """NaN for what is none."""
    try:
        return float(str(value))
    except ValueError:
        return float("nan")


def _is_true(name: str, value: object) -> bool:
    word = str(value).lower()
    if word not in WORDS:
        raise InputError(f"{name}={value}: expected true or false")
    return WORDS[word]
