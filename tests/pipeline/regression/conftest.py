"""Fixtures of fake tools."""

from pathlib import Path

import pytest

from tests.pipeline.regression.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An empty one."""
    return World(tmp_path).make(monkeypatch)
