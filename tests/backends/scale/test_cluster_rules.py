"""Addresses, and whether actors have room: what is known without Ray; and a run whose cluster shrinks."""

import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from backends.scale import cluster as cluster_module
from backends.scale import pool
from backends.scale.cluster import Actors, check_address, cluster, fitting_actors, room_for
from zoo.errors import BackendUnavailableError, InputError


def node(alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"Alive": alive, "Resources": resources}


@pytest.mark.parametrize("address", ["auto", "ray://head:10001", "10.0.0.1:6379", "[::1]:6379"])
def test_addresses(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize("address", ["head", "http://head:80", "ray://head", "head:99999", "", "ray://a b:1"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InputError, match=r"expected ray://HOST:10001, HOST:6379, or auto"):
        check_address(address)


def test_as_many_actors_as_have_room() -> None:
    nodes = [node(CPU=2), node(CPU=1.5), node(alive=False, CPU=64)]
    assert fitting_actors(nodes, None, 0) == Actors(3)
    assert fitting_actors(nodes, 2, 0) == Actors(2)
    assert fitting_actors([node(CPU=8, GPU=2)], None, 0.5) == Actors(4, gpus=0.5)
    assert fitting_actors([node(CPU=1, GPU=2), node(CPU=8)], None, 1) == Actors(1, gpus=1)


@pytest.mark.parametrize(("gpus", "room"), [(0.1, 30), (0.3, 9), (0.5, 6), (0.6, 3), (1, 3), (2, 1), (4, 0)])
def test_a_share_is_of_one_gpu(gpus: float, room: int) -> None:
    assert room_for([node(CPU=64, GPU=3)], Actors(1, gpus=gpus)) == room


def test_actors_that_would_never_start_are_refused() -> None:
    with pytest.raises(InputError) as raised:
        fitting_actors([node(CPU=2)], 3, 0)
    assert str(raised.value) == (
        "--workers 3: each actor takes 1 CPU, and the cluster has 2 CPUs, so 1 of them would never start; give "
        "--workers 2, or add machines"
    )
    with pytest.raises(InputError, match="an actor takes 1 CPU and 1 GPU, and the cluster has 8 CPUs and 0 GPUs"):
        fitting_actors([node(CPU=8)], None, 1)


def test_an_address_where_nobody_answers() -> None:
    pytest.importorskip("ray", reason="the extra scale brings it")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"ray://127.0.0.1:{taken.getsockname()[1]}"
        with (
            pytest.raises(BackendUnavailableError, match="nobody answers there .*; start the cluster with ray start"),
            cluster(address),
        ):
            pass


class BusyRay:
    """A stand-in for Ray beside a cluster that is too busy to start a server for a client so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def init(self, **_: Any) -> None:
        if self.times:
            self.times -= 1
            raise ConnectionError("Failure from server:\nTraceback (most recent call last):\nRuntimeError: no server\n")


def test_a_busy_cluster_is_asked_twice_and_its_traceback_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_reach", lambda _: None)
    cluster_module._connect(BusyRay(1), "ray://head:10001")
    with pytest.raises(
        BackendUnavailableError, match=r"^--address ray://.*: no Ray cluster to work with \(RuntimeError: no server\)$"
    ):
        cluster_module._connect(BusyRay(2), "ray://head:10001")


class SlowData:
    """A stand-in for Ray Data: a row is done at once, and each of the others a while later."""

    def __init__(self) -> None:
        self.size = 0

    def from_items(self, rows: list[Any], override_num_blocks: int) -> "SlowData":
        assert len(rows) == override_num_blocks
        self.rows = rows
        return self

    def ActorPoolStrategy(self, size: int, max_tasks_in_flight_per_actor: int) -> None:  # noqa: N802 - Ray's
        assert max_tasks_in_flight_per_actor > 0
        self.size = size

    def map_batches(self, *_: Any, **__: Any) -> "SlowData":
        return self

    def iter_rows(self) -> Iterator[Any]:
        for row in self.rows:
            yield row
            time.sleep(0.2)


@pytest.fixture
def slow_data(monkeypatch: pytest.MonkeyPatch) -> SlowData:
    data = SlowData()
    monkeypatch.setattr(pool, "optional_library", lambda *_: data)
    monkeypatch.setattr(pool, "attempts_of", lambda _: None)
    monkeypatch.setattr(pool, "LOOK", 0.01)
    monkeypatch.setattr(pool, "PATIENCE", 0.05)
    return data


def wave(rows: int, workers: int, cpus: int) -> Iterator[dict[str, Any]]:
    ray = SimpleNamespace(nodes=lambda: [node(CPU=cpus)])
    return pool._wave(ray, object, [], [{"name": str(number)} for number in range(rows)], Actors(workers))


def test_a_cluster_that_loses_idle_machines_ends_no_run(slow_data: SlowData) -> None:
    """There are no more actors than rows, and towards the end no more than rows are open."""
    assert len(list(wave(rows=2, workers=8, cpus=2))) == 2
    assert slow_data.size == 2
    left = wave(rows=3, workers=3, cpus=2)  # one machine is lost after the first row
    assert len(list(left)) == 3
    assert slow_data.size == 3


def test_a_cluster_without_room_for_the_open_rows_ends_the_run(slow_data: SlowData) -> None:
    with pytest.raises(
        BackendUnavailableError, match=r"its actors have had no room for 0\.05 s; add one, or give fewer"
    ):
        list(wave(rows=8, workers=8, cpus=2))
