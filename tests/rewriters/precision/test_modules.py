"""Nodes by the names of modules."""

import pytest

from rewriters.precision.modules import nodes_of_modules
from tests.rewriters.graph_rewriters.graphs import parsed
from zoo.errors import ExportError

BODY = "g (float[n] x) => (float[n] y) { a = Relu(x)  b = Neg(a)  c = Abs(b)  d = Exp(c)  y = Neg(d) }"
MODULES = {"a": "backbone.conv1", "b": "backbone", "d": "head.box.fc1", "y": "head.box.fc2"}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["backbone"], {0: "backbone", 1: "backbone"}),
        (["backbone.conv1"], {0: "backbone.conv1"}),
        (["head.*"], {3: "head.*", 4: "head.*"}),
        (["head.box.fc?", "backbone.*"], {0: "backbone.*", 3: "head.box.fc?", 4: "head.box.fc?"}),
        ([], {}),
    ],
)
def test_what_is_in_a_module(patterns: list[str], expected: dict[int, str]) -> None:
    assert nodes_of_modules(parsed(BODY, MODULES), patterns) == expected


def test_a_node_of_unknown_path_between_two_of_a_module_is_the_modules() -> None:
    modules = MODULES | {"d": "backbone.norm"}
    assert set(nodes_of_modules(parsed(BODY, modules), ["backbone"])) == {0, 1, 2, 3}


def test_a_pattern_that_fits_no_module_names_the_nearest() -> None:
    with pytest.raises(ExportError, match='no node is of a module "head.bix"; nearest: "head.box"'):
        nodes_of_modules(parsed(BODY, MODULES), ["backbone", "head.bix"])
    with pytest.raises(ExportError, match='"head"; no node has a module path .zooport.module., .* export the model'):
        nodes_of_modules(parsed(BODY), ["head"])
