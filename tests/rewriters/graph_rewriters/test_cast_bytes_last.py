"""Casts to uint8 are moved to the outputs, where all that is between moves values."""

import pytest
from onnx import TensorProto

from rewriters.graph_passes.marks import marks
from tests.rewriters.graph_rewriters.graphs import model, ops, rewritten

HEAD = "agraph (float[N, 3] x)"


def test_a_cast_that_is_joined_is_done_at_the_output() -> None:
    before = model(f"{HEAD} => (uint8[N, 6] y) {{ a = Abs (x) b = Cast <to = 2> (a) y = Concat <axis = 1> (b, b) }}")
    after, changes = rewritten(before, "cast_bytes_last")
    assert ops(after) == ["Abs", "Cast", "Concat", "Cast"]
    assert after.graph.node[1].attribute[0].i == TensorProto.INT32
    assert changes == ["y is cast to uint8 at the output"]


def test_a_mark_stays_on_the_output() -> None:
    before = model(f"{HEAD} => (uint8[N, 6] y) {{ a = Abs (x) b = Cast <to = 2> (a) y = Concat <axis = 1> (b, b) }}")
    before.graph.node[2].metadata_props.add(key="zooport.mark.0", value='["bytes"]')
    after, _ = rewritten(before, "cast_bytes_last")
    assert list(marks(after.graph)) == [("bytes", "y")]


def test_a_value_that_is_an_output_and_goes_on_is_cast_for_itself() -> None:
    body = "a = Abs (x) b = Cast <to = 2> (a) y = Identity (b) z = Concat <axis = 1> (y, b)"
    before = model(f"{HEAD} => (uint8[N, 3] y, uint8[N, 6] z) {{ {body} }}")
    after, changes = rewritten(before, "cast_bytes_last")
    assert ops(after) == ["Abs", "Cast", "Identity", "Concat", "Cast", "Cast"]
    assert len(changes) == 2


@pytest.mark.parametrize(
    "body",
    [
        "a = Abs (x) y = Cast <to = 2> (a)",  # is at the output
        "a = Abs (x) b = Cast <to = 2> (a) c = Add (b, b) y = Identity (c)",  # computes in bytes
        "a = Abs (x) b = Cast <to = 2> (a) y = Concat <axis = 1> (b, t)",  # is joined with stored bytes
        "a = Abs (x) b = Cast <to = 2> (a) c = Add (b, b) y = Concat <axis = 1> (b, c)",  # something else reads them
    ],
)
def test_other_graphs_stay_as_they_are(body: str) -> None:
    before = model(f"{HEAD} => (uint8[N, m] y) <uint8[1, 1] t = {{7}}> {{ {body} }}")
    assert rewritten(before, "cast_bytes_last")[1] == []


def test_the_attributes_of_a_cast_have_no_order() -> None:
    cast = "b = Cast <saturate = 1, to = 2> (a)"
    before = model(f"{HEAD} => (uint8[N, 6] y) {{ a = Abs (x) {cast} y = Concat <axis = 1> (b, b) }}")
    after, _ = rewritten(before, "cast_bytes_last")
    assert {one.name: one.i for one in after.graph.node[1].attribute} == {"saturate": 1, "to": TensorProto.INT32}
