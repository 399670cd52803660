"""Graphs as text, and what holds for every graph rewriter."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper, parser

from rewriters.checks.same_numbers import compare_graphs
from rewriters.graph_rewriters import rewrite_graph
from rewriters.onnx_graph.module_paths import MODULE
from rewriters.onnx_graph.scopes import every_graph

Step = str | Mapping[str, Any]


def model(text: str, more: str = "", **constants: Sequence[Any]) -> onnx.ModelProto:
    """A model of a graph as text; `more`: opsets; `constants`: further initializers, in float32."""
    head = f'<ir_version: 10, opset_import: ["" : 20{more}], producer_name: "made here">'
    result = parser.parse_model(f"{head} {text}")
    for name, numbers in constants.items():
        result.graph.initializer.append(numpy_helper.from_array(np.array(numbers, dtype=np.float32), name))
    onnx.checker.check_model(result)
    return result


def rewritten(before: onnx.ModelProto, *steps: Step, same: bool = True) -> tuple[onnx.ModelProto, list[str]]:
    """The result and all lines, after the proof that it is sound, the same where it must be, and stays as it is."""
    content = before.SerializeToString(deterministic=True)
    after, done = rewrite_graph(before, steps)
    assert before.SerializeToString(deterministic=True) == content, "the model that was given changed"
    onnx.checker.check_model(after, full_check=True)
    assert list(after.graph.input) == list(before.graph.input)
    assert list(after.graph.output) == list(before.graph.output)
    assert (after.ir_version, after.producer_name) == (before.ir_version, before.producer_name)
    changed = any(step.changes for step in done)
    assert changed == (after.SerializeToString(deterministic=True) != content), "what changed is not what was reported"
    if same:
        compared = compare_graphs(before, after)
        assert not compared.unequal, compared.unequal
    again, done_again = rewrite_graph(after, steps[-1:])
    assert not done_again[0].changes, done_again
    assert again.SerializeToString(deterministic=True) == after.SerializeToString(deterministic=True)
    return after, [line for step in done for line in step.changes]


def ops(result: onnx.ModelProto) -> list[str]:
    """The operators of the graph and of those within."""
    return [node.op_type for graph in every_graph(result.graph) for node in graph.node]


def parsed(body: str, modules: Mapping[str, str] | None = None) -> onnx.ModelProto:
    """A model of opset 20; `modules`: module paths by the name of a node's first output."""
    result = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]>\n{body}')
    for node in result.graph.node:
        if modules and node.output[0] in modules:
            node.metadata_props.add(key=MODULE, value=modules[node.output[0]])
    return result


def run(piece: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Checked, then run by ONNX Runtime; outputs by name."""
    onnx.checker.check_model(piece, full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(piece.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names: Sequence[str] = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(feeds)), strict=True))


def dims(values: Sequence[onnx.ValueInfoProto]) -> dict[str, list[int | str]]:
    return {v.name: [dim.dim_param or dim.dim_value for dim in v.type.tensor_type.shape.dim] for v in values}
