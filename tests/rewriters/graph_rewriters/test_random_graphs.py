"""Whatever the graph: the numbers, the interface and the metadata stay, and a second time nothing changes."""

import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.rewriters.graph_rewriters.graphs import Step, rewritten
from tests.rewriters.graph_rewriters.random_graphs import random_graphs

METADATA: Step = {"name": "set_metadata", "props": {"task": "detect", "made": "again"}}
STEPS: list[Step] = ["fold_constants", {"name": "fold_constants", "max_bytes": 0}, "drop_identities", METADATA]
CHECKS = list(HealthCheck)


def random(every_commit: int, test_all: int) -> settings:
    """The same graphs every time."""
    return settings(examples(every_commit, test_all), suppress_health_check=CHECKS, derandomize=True)


@random(40, 400)
@given(graph=random_graphs(), steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4))
def test_the_same_numbers(graph: onnx.ModelProto, steps: list[Step]) -> None:
    onnx.checker.check_model(graph, full_check=True)
    rewritten(graph, *steps)


@random(10, 15)
@given(graph=random_graphs(), steps=st.lists(st.sampled_from([*STEPS, "simplify"]), max_size=2))
def test_simplified(graph: onnx.ModelProto, steps: list[Step]) -> None:
    rewritten(graph, *steps, "simplify")


@random(4, 20)
@given(graph=random_graphs())
def test_fp16_is_sound(graph: onnx.ModelProto) -> None:
    rewritten(graph, {"name": "cast_precision", "everywhere": True}, same=False)
