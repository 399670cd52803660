"""What a file is made of: nodes of subgraphs and functions count, and functions of the file need no kernel."""

from pathlib import Path

from onnx import TensorProto, helper, save_model

from pipeline.report.graph_facts import graph_facts

RELU = helper.make_node("Relu", ["x"], ["y"])


def test_subgraphs_functions_and_domains(tmp_path: Path) -> None:
    one = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    branch = helper.make_graph([RELU], "branch", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("pkg.mine", 1), helper.make_opsetid("acme", 3)]
    function = helper.make_function("pkg.mine", "Twice", ["x"], ["y"], [RELU], opsets)
    nodes = [
        helper.make_node("If", ["flag"], ["a"], then_branch=branch, else_branch=branch),
        helper.make_node("Twice", ["a"], ["b"], domain="pkg.mine"),
        helper.make_node("Twist", ["b"], ["c"], domain="acme"),
    ]
    out = helper.make_tensor_value_info("c", TensorProto.FLOAT, [1])
    graph = helper.make_graph(nodes, "made", [one, flag], [out])
    path = tmp_path / "model.onnx"
    save_model(helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10), path)
    found = graph_facts(path)
    assert list(found.operators.items()) == [("Relu", 3), ("If", 1), ("acme::Twist", 1), ("pkg.mine::Twice", 1)]
    assert found.nodes == 6
    assert found.opsets == {"ai.onnx": 20, "pkg.mine": 1, "acme": 3}
    assert [(one.name, one.defined) for one in found.custom] == [("acme::Twist", False), ("pkg.mine::Twice", True)]
