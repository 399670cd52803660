"""A driver on an actor, with a stand-in for the cluster: rows, errors of the user's, a machine that is lost."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from backends.scale.remote_driver import driven_remotely
from zoo.errors import BackendUnavailableError, ZooportError

pytestmark = pytest.mark.scale
pytest.importorskip("ray", reason="the extra scale brings it")


class ActorLostError(Exception):
    pass


class Ray:
    """Actors are objects of this process; `lost`: a call of that number does not come back."""

    exceptions = SimpleNamespace(RayActorError=ActorLostError)

    def __init__(self, lost: int | None = None) -> None:
        self.killed: list[Any] = []
        self.calls, self.lost = 0, lost

    def remote(self, *, num_cpus: float) -> Any:
        assert num_cpus == 0
        return lambda made: SimpleNamespace(remote=lambda *arguments: self.actor(made(*arguments)))

    def actor(self, made: Any) -> Any:
        return SimpleNamespace(next_row=SimpleNamespace(remote=made.next_row))

    def get(self, value: Any) -> Any:
        self.calls += 1
        if self.calls == self.lost:
            raise ActorLostError
        return value

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


def counted(_: Any, end: int) -> Iterator[dict[str, Any]]:
    for number in range(end):
        yield {"number": number}
    if end == 3:
        raise BackendUnavailableError("no room")


def test_rows_come_in_order_and_the_actor_ends() -> None:
    ray = Ray()
    assert [row["number"] for row in driven_remotely(ray, counted, 2)] == [0, 1]
    assert len(ray.killed) == 1
    left = driven_remotely(ray, counted, 2)
    next(left)
    left.close()
    assert len(ray.killed) == 2


def test_an_error_of_the_user_keeps_its_line_and_its_code() -> None:
    with pytest.raises(ZooportError, match="^no room$") as raised:
        list(driven_remotely(Ray(), counted, 3))
    assert raised.value.exit_code == BackendUnavailableError.exit_code


def test_a_lost_driver_is_one_line() -> None:
    ray = Ray(lost=2)
    with pytest.raises(BackendUnavailableError, match="was lost; continue with --resume"):
        list(driven_remotely(ray, counted, 2))
    assert len(ray.killed) == 1
