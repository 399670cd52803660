"""How many examples a property of whole models is tested with."""

import os

from hypothesis import settings

TEST_ALL = "ZOOPORT_TEST_ALL"  # set by make test-all


def examples(every_commit: int, test_all: int) -> settings:
    """A few in make test, which stays within seven minutes on two cores; more in make test-all."""
    return settings(max_examples=test_all if TEST_ALL in os.environ else every_commit, deadline=None)
