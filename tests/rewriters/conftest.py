"""A registry for tests that declare rewriters of their own."""

from collections.abc import Iterator
from typing import Any

import pytest

from rewriters.patching import rewriter as registry


@pytest.fixture
def registry_of_its_own() -> Iterator[list[Any]]:
    """An empty registry for the time of a test."""
    saved = list(registry.REWRITERS)
    registry.REWRITERS.clear()
    yield registry.REWRITERS
    registry.REWRITERS[:] = saved
