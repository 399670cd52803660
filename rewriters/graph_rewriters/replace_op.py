"""Replacing an operator by another one with the same inputs and outputs: a plugin, or another activation."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import onnx

from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.onnx_graph.opset import STANDARD, add_domain, opset_of
from rewriters.onnx_graph.scopes import every_graph
from zoo.errors import ExportError, InputError, nearest


@graph_rewriter(same_numbers=False)
def replace_op(
    model: onnx.ModelProto,
    *,
    op_type: str,
    new_op_type: str,
    domain: str = "",
    attributes: Mapping[str, Any] | None = None,
    node: str = "*",
) -> Edited:
    """Make every node of one operator, of any domain, a node of another, with the same inputs and outputs.

    `domain`: the new operator's; one of your own is added to the model's opsets. `attributes`: set, or removed where
    None; the others stay. `node`: only those named like this, with * and ?. Nodes in subgraphs count.
    """
    domain = "" if domain in STANDARD else domain
    _check_known(model, new_op_type, domain)
    changed = _changed(attributes or {})
    nodes = [one for graph in every_graph(model.graph) for one in graph.node]
    matches = [one for one in nodes if one.op_type == op_type and fnmatchcase(one.name, node)]
    if not matches and not any((one.op_type, one.domain) == (new_op_type, domain) for one in nodes):
        types = {one.op_type for one in nodes}
        named = "" if node == "*" else f' named like "{node}"'
        hint = f"; {nearest(op_type, sorted(types))}" if op_type not in types else ""
        raise ExportError(f"replace_op: the graph has no {op_type}{named}, and no {new_op_type} either{hint}")
    changes = []
    for one in matches:
        before = one.SerializeToString(deterministic=True)
        one.op_type, one.domain = new_op_type, domain
        kept = [attribute for attribute in one.attribute if attribute.name not in changed]
        new = [attribute for attribute in changed.values() if attribute is not None]
        del one.attribute[:]
        one.attribute.extend(sorted([*kept, *new], key=lambda attribute: attribute.name) if changed else kept)
        if one.SerializeToString(deterministic=True) != before:
            changes.append(f"{op_type} {one.name or one.output[0]} is now {_full(new_op_type, domain)}")
    if changes and domain:
        add_domain(model, domain)
    return model, changes


def _full(op_type: str, domain: str) -> str:
    return f"{domain}::{op_type}" if domain else op_type


def _check_known(model: onnx.ModelProto, op_type: str, domain: str) -> None:
    """Raises ExportError for a standard operator that the model's opset has not."""
    opset = opset_of(model)
    if not domain and opset and not onnx.defs.has(op_type, opset, ""):
        raise ExportError(f"replace_op: opset {opset} has no operator {op_type}; for one of your own, give its domain")


def _changed(attributes: Mapping[str, Any]) -> dict[str, onnx.AttributeProto | None]:
    """Raises InputError for a value that no attribute can have."""
    changed: dict[str, onnx.AttributeProto | None] = {}
    for key, value in attributes.items():
        try:
            changed[key] = None if value is None else onnx.helper.make_attribute(key, value)
        except (TypeError, ValueError) as error:
            raise InputError(f"replace_op: attribute {key}: {value!r} is not an attribute of ONNX: {error}") from error
    return changed
