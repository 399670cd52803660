"""A Ray cluster: reached, or started on this machine; and whether the actors have room in it."""

import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from backends.scale.storage import EXTRA, USE
from backends.threads import default_threads
from zoo.errors import BackendUnavailableError, InputError
from zoo.optional_library import optional_library

AUTO = "auto"
ADDRESS = re.compile(r"(?:ray://)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+):(\d{1,5})")
SECONDS = 5.0  # for the first answer of a cluster's machine
MAX_PORT = 65535
MAX_GPUS, SMALLEST_SHARE = 1024, 0.01
GPUS = f"a share from {SMALLEST_SHARE:g} to 1, or an integer up to {MAX_GPUS}"
PACKAGES = Path(__file__).resolve().parents[2]
"""Where the processes of a cluster of its own find zooport's packages, also those of a checkout."""
QUIET = {"RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
"""What Ray prints of its own work is one bar of ours; nothing is reported to anybody, and no actor collects what would
be. Read when Ray is imported, and at each run of its data."""
ONCE = {"RAY_ENABLE_AUTO_CONNECT": "0"}
"""Threads of a run that ended early would start a second cluster. Read when Ray is imported."""
LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""What binds all ports of a cluster of its own to 127.0.0.1, on Linux as well. Read when Ray is imported."""


class ClusterRequest(NamedTuple):
    """Where actors run. `address`: see `cluster`. `workers`: how many; None: all that have room. `gpus`: of each."""

    address: str | None = None
    workers: int | None = None
    gpus: float = 0


class Actors(NamedTuple):
    """How many there are, and what each of them takes."""

    size: int
    cpus: float = 1
    gpus: float = 0


def check_address(address: str) -> None:
    """Raises InputError for what is no address."""
    if address == AUTO:
        return
    match = ADDRESS.fullmatch(address)
    if match is None or int(match[2]) > MAX_PORT:
        raise InputError(
            f"--address {address}: expected ray://HOST:10001, HOST:6379, or {AUTO} on a machine of the cluster"
        )


def is_gpus(gpus: float) -> bool:
    """Whether each actor can have so many GPUs, see GPUS: Ray gives a share of one, or whole ones."""
    return SMALLEST_SHARE <= gpus <= 1 or (1 < gpus <= MAX_GPUS and float(gpus).is_integer())


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """The library ray, connected to the cluster at `address`; None: to one of its own on this machine, on 127.0.0.1.

    Raises BackendUnavailableError if nobody answers, LibraryMissingError without Ray.
    """
    paths = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = LOCAL if address is None else {}
    with _environment(QUIET):
        with _environment({**ONCE, **own, "PYTHONPATH": os.pathsep.join(paths)}):
            ray = optional_library("ray", EXTRA, USE)
            optional_library("ray.data", EXTRA, USE)
            started = not ray.is_initialized()
            if started:
                _connect(ray, address)
        try:
            yield ray
        finally:
            if started:
                ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        try:
            ray.init(address="local", include_dashboard=False, num_cpus=default_threads(), **quiet)
        except Exception as error:  # Ray raises no narrower one where its processes do not start
            reason = " ".join(str(error).split())
            raise BackendUnavailableError(f"{USE}: Ray does not start on this machine ({reason}); try again") from error
        return
    _reach(address)
    try:
        try:
            ray.init(address=address, **quiet)
        except ConnectionError:  # a busy cluster starts no server for this client within Ray's 30 s
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise BackendUnavailableError(f"--address {address}: no Ray cluster to work with ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    """In one line. Ray sends the traceback of its server."""
    text = str(error).strip()
    return " ".join((text.splitlines()[-1] if "Traceback" in text else text).split())


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables of this process, which those that it starts inherit; what the user has set himself stays."""
    before = dict(os.environ)
    os.environ.update({name: value for name, value in variables.items() if name not in QUIET or name not in before})
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name)
            if name in before:
                os.environ[name] = before[name]


def _reach(address: str) -> None:
    """Ray itself would wait for minutes. Raises BackendUnavailableError."""
    match = ADDRESS.fullmatch(address)
    if match is None:
        return
    try:
        socket.create_connection((match[1].strip("[]"), int(match[2])), SECONDS).close()
    except OSError as error:
        raise BackendUnavailableError(
            f"--address {address}: nobody answers there ({error.strerror or error}); start the cluster with ray start "
            "--head, or correct the address"
        ) from error


def fitting_actors(nodes: list[Mapping[str, Any]], workers: int | None, gpus: float) -> Actors:
    """As many actors as were asked for, or as the cluster has room for. `nodes`: as `ray.nodes()` gives them.

    Raises InputError for more actors than have room: those would never start.
    """
    actor = Actors(1, gpus=gpus)
    room = room_for(nodes, actor)
    has = cluster_words(nodes, gpus)
    each = "1 CPU" + (f" and {gpus:g} GPU" if gpus else "")
    if room < 1:
        raise InputError(f"{USE}: an actor takes {each}, and {has}; add a machine to it")
    if workers is not None and workers > room:
        raise InputError(
            f"--workers {workers}: each actor takes {each}, and {has}, so {workers - room} of them would never "
            f"start; give --workers {room}, or add machines"
        )
    return actor._replace(size=workers or room)


def room_for(nodes: list[Mapping[str, Any]], actor: Actors) -> int:
    """How many actors that each take what `actor` says the cluster can hold. `nodes`: as `ray.nodes()` gives them."""
    return sum(_room(resources, actor) for resources in _resources(nodes))


def cluster_words(nodes: list[Mapping[str, Any]], gpus: float) -> str:
    """For messages: what the cluster has; its GPUs where `gpus` of them are asked for."""
    cpus, devices = (sum(resources.get(kind, 0) for resources in _resources(nodes)) for kind in ("CPU", "GPU"))
    return f"the cluster has {cpus:g} CPUs" + (f" and {devices:g} GPUs" if gpus else "")


def _resources(nodes: list[Mapping[str, Any]]) -> list[Mapping[str, float]]:
    return [node["Resources"] for node in nodes if node["Alive"]]


def _room(node: Mapping[str, float], actor: Actors) -> int:
    """How many actors a machine can hold. A share of a GPU is of one GPU."""
    by_cpu = int(node.get("CPU", 0) // actor.cpus)
    if not actor.gpus:
        return by_cpu
    devices = int(node.get("GPU", 0))
    return min(by_cpu, devices * int(1 / actor.gpus + 1e-9) if actor.gpus < 1 else int(devices // actor.gpus))
