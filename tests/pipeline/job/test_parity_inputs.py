"""The inputs of parity that come from the data set: spread over it, each at most once, until enough of them fit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.inputs.parity_inputs import FROM_DATASET, parity_inputs
from tests.pipeline.job.test_targets import config
from zoo.errors import InputError
from zoo.preprocess import Preprocess
from zoo.target import AxisRange, Target

RULE = Preprocess(size=None, resize="keep")
TARGET = Target({"height": AxisRange.fixed(64), "width": AxisRange.fixed(64)})


class Images:
    """Images whose first value is their number; those that do not fit are larger."""

    def __init__(self, count: int, fitting: set[int]) -> None:
        self.count, self.fitting = count, fitting

    def __len__(self) -> int:
        return self.count

    def image_item(self, index: int) -> dict[str, Any]:
        side = 64 if index in self.fitting else 96
        return {"path": f"{index}.png", "image": np.full((side, side, 3), index, np.uint8)}


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 30), st.data())
def test_all_of_the_data_set_are_tried(count: int, data: st.DataObject) -> None:
    fitting = data.draw(st.sets(st.integers(0, count - 1), min_size=2))
    chosen = chosen_from(count, fitting)
    assert len(chosen) == min(FROM_DATASET, len(fitting)) == len(set(chosen))
    assert set(chosen) <= fitting


def test_they_are_spread() -> None:
    assert chosen_from(10, set(range(10))) == [0, 2, 4, 6]


def test_too_few_fit() -> None:
    with pytest.raises(InputError, match="parity needs 2 different images that fit the target, got 1"):
        chosen_from(9, {4})


def chosen_from(count: int, fitting: set[int]) -> list[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.inputs.parity_inputs.config_dataset", lambda *_: Images(count, fitting))
        chosen = parity_inputs(replace(config(), dataset={"type": "X"}), [], RULE, TARGET)
    return [int(one.value[0, 0, 0]) for one in chosen]
