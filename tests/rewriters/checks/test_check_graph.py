"""Each check refuses a graph that was made to break it."""

import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from rewriters.checks import check_graph
from tests.rewriters.small_models import fixed_target
from zoo.errors import ExportError, InputError
from zoo.tensor_spec import TensorSpec

TARGET = fixed_target(8, 8)
EXAMPLE = {"images": np.zeros((1, 3, 8, 8), np.float32)}
TWO = {**EXAMPLE, "image_sizes": EXAMPLE["images"]}
SPECS = [TensorSpec("out", "float32", (1, 3, 8, 8))]


def model(nodes: list[onnx.NodeProto], inputs: tuple[str, ...] = ("images",), opset: int = 20) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 8, 8]) for name in inputs],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["a", "b", "c", "d"])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def relu(source: str = "images", name: str = "out") -> onnx.NodeProto:
    return helper.make_node("Relu", [source], [name])


def test_a_sound_graph_passes() -> None:
    graph = model([relu()])
    assert onnx.load_model_from_string(check_graph(graph, TARGET, EXAMPLE, SPECS)) == graph


def test_another_opset() -> None:
    with pytest.raises(ExportError, match="asked for opset 20, the exporter wrote 18; give --opset 18"):
        check_graph(model([relu()], opset=18), TARGET, EXAMPLE, SPECS)


def test_a_constant_output() -> None:
    value = helper.make_tensor("v", TensorProto.FLOAT, [1], [0.0])
    with pytest.raises(ExportError, match='output "out" depends on no input'):
        check_graph(model([helper.make_node("Constant", [], ["out"], value=value)]), TARGET, EXAMPLE, SPECS)


def test_an_output_that_depends_on_the_size_of_an_input_alone() -> None:
    """An early `return images.new_zeros(...)` with a dynamic batch."""
    nodes = [helper.make_node("Shape", ["images"], ["shape"]), helper.make_node("ConstantOfShape", ["shape"], ["out"])]
    with pytest.raises(ExportError, match='output "out" depends on no input'):
        check_graph(model(nodes), TARGET, EXAMPLE, SPECS)


def test_a_declared_input_that_the_trace_dropped() -> None:
    with pytest.raises(ExportError, match='no input "image_sizes"'):
        check_graph(model([relu()]), TARGET, TWO, SPECS)


def test_an_input_that_reaches_nothing() -> None:
    with pytest.raises(ExportError, match='input "image_sizes" reaches no output'):
        check_graph(model([relu()], ("images", "image_sizes")), TARGET, TWO, SPECS)


def test_an_input_that_is_read_inside_a_branch_only_counts() -> None:
    branch = helper.make_graph(
        [relu("images", "inner")],
        "b",
        [],
        [helper.make_tensor_value_info("inner", TensorProto.FLOAT, ["a", "b", "c", "d"])],
    )
    condition = helper.make_tensor("c", TensorProto.BOOL, [], [True])
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=condition),
        helper.make_node("If", ["yes"], ["out"], then_branch=branch, else_branch=branch),
    ]
    check_graph(model(nodes), TARGET, EXAMPLE, SPECS)


def test_a_shape_that_is_not_the_declared_one() -> None:
    with pytest.raises(ExportError, match=r"output out has the shape \[1, 3, 8, 8\].*asks for \[1, 4, 8, 8\]"):
        check_graph(model([relu()]), TARGET, EXAMPLE, [TensorSpec("out", "float32", (1, 4, 8, 8))])


def test_an_operator_that_does_not_exist() -> None:
    with pytest.raises(ExportError, match=r"onnx\.checker refuses"):
        check_graph(model([helper.make_node("NoSuchOperator", ["images"], ["out"])]), TARGET, EXAMPLE, SPECS)


def test_an_operator_of_another_domain_without_a_kernel() -> None:
    broken = model([helper.make_node("NoSuchOperator", ["images"], ["out"], domain="mydomain")])
    broken.opset_import.append(helper.make_opsetid("mydomain", 1))
    with pytest.raises(ExportError, match="mydomain::NoSuchOperator has no kernel"):
        check_graph(broken, TARGET, EXAMPLE, SPECS)


def test_a_local_path() -> None:
    leaking = model([relu()])
    leaking.doc_string = f"made in {sys.prefix}/lib"
    with pytest.raises(ExportError, match="holds the local path"):
        check_graph(leaking, TARGET, EXAMPLE, SPECS)


def test_a_local_path_in_the_users_own_metadata() -> None:
    leaking = model([relu()])
    onnx.helper.set_model_props(leaking, {"license": "MIT", "weights": f"{sys.prefix}/best.pt"})
    with pytest.raises(InputError, match='^metadata "weights" holds the local path .*; leave it out, or write a relat'):
        check_graph(leaking, TARGET, EXAMPLE, SPECS)


def test_a_file_above_the_limit_of_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["rewriters.checks.check_graph"], "PROTOBUF_LIMIT", 10)
    with pytest.raises(ExportError, match=r"the model has \d+ bytes; files above 10 are not supported"):
        check_graph(model([relu()]), TARGET, EXAMPLE, SPECS)
