"""Joining a torchrun: what may be wrong before it starts."""

import pytest

from pipeline.evaluation.processes import by_the_first, is_first, processes, threads_each
from zoo.errors import InputError


def test_one_process_is_the_first_and_has_all_threads() -> None:
    with processes("none", "cpu") as device:
        assert device == "cpu"
        assert is_first()
        assert threads_each(None) is None
        assert threads_each(3) == 3
        assert by_the_first(lambda: 5) == 5


def test_an_error_of_the_first_process_is_itself() -> None:
    def fail() -> None:
        raise InputError("what it was")

    with pytest.raises(InputError, match="^what it was$"):
        by_the_first(fail)


def test_without_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match=r"RANK, .* not set; start it as torchrun"), processes("pytorch", "cpu"):
        pytest.fail("it was taken")
