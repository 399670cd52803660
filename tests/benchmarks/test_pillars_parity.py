"""benchmarks/pillars_parity.py: what a row of its table counts."""

import numpy as np
import pytest

from zoo.tasks.detection3d import Detection3DResult


def _found(*changes: float) -> Detection3DResult:
    """Cars 10 m apart, of which the yaw of each is changed."""
    boxes = [(10.0 * number, 0, -1, 4, 1.6, 1.5, 0.3 + change) for number, change in enumerate(changes)]
    return Detection3DResult(boxes, np.full(len(boxes), 0.9), np.zeros(len(boxes), np.int64))


@pytest.mark.usefixtures("benchmarks")
def test_pairs_above_a_limit_are_counted() -> None:
    from pillars_parity import Differences

    within = Differences()
    within.add(_found(0, 0, 0), _found(0, 5e-5, 0))
    assert within.held
    differences = Differences()
    differences.add(_found(0, 0, 0, 0), _found(0, 2e-4, 3e-4, 5e-5))
    assert (differences.compared, differences.alone, differences.above) == (4, 0, 2)
    assert not differences.held
    assert differences.cells().startswith("4 | 0 | 2 | ")
