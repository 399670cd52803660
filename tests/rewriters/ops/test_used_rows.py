"""zooport::used_rows and to_slots: the same as running every row; ONNX Runtime's form runs the used ones only."""

import numpy as np
import onnxruntime as ort
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from rewriters.ops.used_rows import to_slots, used_rows
from tests.examples import examples
from tests.rewriters.ops.exported import FORMS, exported, session_of

CHANNELS, SIDE = 3, 4
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")


class Head(nn.Module):
    """A head of one convolution, run on the used rows; also gives what it ran on."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(CHANNELS, 2, 3, padding=1)

    def forward(self, slots: Tensor, used: Tensor) -> tuple[Tensor, Tensor]:
        rows = self.conv(used_rows(slots, used))
        return to_slots(rows, used), rows


def slots_and_used(count: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    slots = torch.rand(count, CHANNELS, SIDE, SIDE, generator=generator)
    return slots, torch.rand(count, generator=generator) < torch.rand(1, generator=generator)


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def form_and_session(request: pytest.FixtureRequest) -> tuple[tuple[str, str], ort.InferenceSession]:
    axes = {"slots": {0: "r"}, "used": {0: "r"}}
    return request.param, session_of(exported(Head(), slots_and_used(5, 1), axes, ["result", "rows"], request.param))


@examples(12, 30)
@given(count=st.integers(1, 12), seed=st.integers(0, 10_000))
def test_the_result_is_that_of_every_row_and_only_used_rows_run_in_onnxruntimes_form(
    form_and_session: tuple[tuple[str, str], ort.InferenceSession], count: int, seed: int
) -> None:
    (_, backend), session = form_and_session
    slots, used = slots_and_used(count, seed)
    head = Head().eval()
    with torch.no_grad():
        expected = head.conv(slots) * used[:, None, None, None]
        eager, _ = head(slots, used)
    assert torch.equal(eager, expected)
    result, rows = session.run(None, {"slots": slots.numpy(), "used": used.numpy()})
    np.testing.assert_allclose(result, expected.numpy(), atol=1e-6)
    assert len(rows) == (used.sum() if backend == "onnxruntime" else count)


class Brighter(nn.Module):
    """Rows of bool, as a threshold gives them."""

    def forward(self, slots: Tensor, used: Tensor) -> Tensor:
        return to_slots(used_rows(slots, used) > 0.5, used)


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_rows_of_bool(form: tuple[str, str]) -> None:
    session = session_of(
        exported(Brighter(), slots_and_used(5, 1), {"slots": {0: "r"}, "used": {0: "r"}}, ["result"], form)
    )
    for count, seed in ((5, 1), (7, 2), (3, 9)):
        slots, used = slots_and_used(count, seed)
        (result,) = session.run(None, {"slots": slots.numpy(), "used": used.numpy()})
        assert result.dtype == np.bool_
        np.testing.assert_array_equal(result, ((slots > 0.5) & used[:, None, None, None]).numpy())


def test_rows_of_another_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match=r"to_slots: rows are torch.int64, expected float32 or bool"):
        to_slots(torch.ones(2, 3, dtype=torch.int64), torch.tensor([True, False]))


def test_the_fake_implementations_agree() -> None:
    slots, used = slots_and_used(6, 3)
    torch.library.opcheck(used_rows, (slots, used))
    torch.library.opcheck(to_slots, (slots, used))
