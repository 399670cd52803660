"""What make test tests of what make test-all tests in full."""

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

TEST_ALL = "ZOOPORT_TEST_ALL"  # set by make test-all


def examples(every_commit: int, test_all: int) -> settings:
    """How many examples a property is tested with: a few in make test, more in make test-all."""
    return settings(max_examples=test_all if TEST_ALL in os.environ else every_commit, deadline=None)


def slow_but(values: Iterable[Any], *every_commit: Any) -> list[Any]:
    """The values as parameters: make test takes those of `every_commit`, make test-all takes all.

    A tuple is one value for each of several names.
    """
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=() if value in every_commit else pytest.mark.slow
        )
        for value in values
    ]
