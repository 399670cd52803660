"""Which modules hold a function: found once, and again where something was imported."""

import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriters.patching.holders import Holders


def wanted() -> int:
    """What is looked for."""
    return 1


@pytest.fixture
def user() -> Iterator[types.ModuleType]:
    """A module that is imported."""
    module = types.ModuleType("zooport_test_user")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def names(holders: Holders, module: types.ModuleType, current: object = wanted) -> list[str]:
    return [name for place, name in holders.find({wanted: current})[wanted] if place is module]


def test_a_name_that_comes_after_the_first_search(user: types.ModuleType) -> None:
    holders = Holders()
    assert not names(holders, user)
    user.f = wanted  # type: ignore[attr-defined]
    assert list(holders.changed()) == [(user.__name__, user)]
    assert names(holders, user) == ["f"]
    assert not list(holders.changed())


def test_a_name_that_is_gone(user: types.ModuleType) -> None:
    holders = Holders()
    user.f = user.g = wanted  # type: ignore[attr-defined]
    assert names(holders, user) == ["f", "g"]
    user.f = None  # type: ignore[attr-defined]
    assert names(holders, user) == ["g"]


def test_what_took_a_functions_place_is_found_at_its_places(user: types.ModuleType) -> None:
    holders = Holders()
    user.f = wanted  # type: ignore[attr-defined]
    assert names(holders, user) == ["f"]
    user.f = other = lambda: 2  # type: ignore[attr-defined]
    assert not names(holders, user)
    assert names(holders, user, other) == ["f"]


def test_another_module_of_the_same_name(user: types.ModuleType) -> None:
    holders = Holders()
    user.f = None  # type: ignore[attr-defined]
    assert not names(holders, user)
    other = types.ModuleType(user.__name__)
    other.f = wanted  # type: ignore[attr-defined]
    sys.modules[user.__name__] = other
    assert names(holders, other) == ["f"]


def test_a_module_that_is_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "zooport_test_source.py"
    file.write_text("def g(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(file.stem)
    try:
        holders = Holders()
        assert not names(holders, module)
        file.write_text(f"from {__name__} import wanted as g\n")
        importlib.reload(module)
        assert names(holders, module) == ["g"]
    finally:
        del sys.modules[file.stem]
