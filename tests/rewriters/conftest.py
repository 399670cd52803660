"""The dialects of all backends, and a registry for tests that declare rewriters of their own."""

from collections.abc import Iterator
from typing import Any

import pytest

from backends import available
from rewriters.patching import rewriter as registry

available()  # registers the backends; what they take of a graph is asked for by their names


@pytest.fixture
def registry_of_its_own() -> Iterator[list[Any]]:
    """An empty registry for the time of a test."""
    saved = list(registry.REWRITERS)
    registry.REWRITERS.clear()
    yield registry.REWRITERS
    registry.REWRITERS[:] = saved
