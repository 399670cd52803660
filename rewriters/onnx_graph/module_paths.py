"""Which PyTorch module a node comes from, under one key of its metadata, whichever exporter wrote it.

    dynamo       pkg.torch.onnx.name_scopes = ['', 'model', 'model.backbone', 'relu']  ->  backbone
    torchscript  name /model/backbone/body/layer1/layer1.0/relu_1/Relu  ->  backbone.body.layer1.0.relu

The path is that of the innermost module whose forward made the node. torchscript leaves out the parents of a module
that is not called by its own parent, and numbers the calls of one, so its names are looked up among the model's
modules. Where they fit two of them, the path is that of the module around both.
"""

import ast
import functools
import re
from collections.abc import Mapping

import onnx
from torch import nn

from rewriters.onnx_graph.scopes import every_graph
from zoo.tasks.contract import Contract

MODULE = "zooport.module"
"""The metadata key of a node: a name of `dict(model.named_modules())` of the zoo's model, "" for the model itself."""
SCOPES, RULES = "pkg.torch.onnx.name_scopes", "pkg.onnxscript.rewriter.rule_name"


def traced_names(module: nn.Module) -> dict[str, str]:
    """The name of every module in an exporter's trace -> its name in the zoo's model.

    A contract's own name for its model is left out. A module with several names has the first.
    """
    wrapped = isinstance(module, Contract)
    model = module.model if isinstance(module, Contract) else module
    first = {id(part): name for name, part in model.named_modules()}
    prefix = "model" if wrapped else ""
    return {
        ".".join(filter(None, (prefix, name))): first[id(part)]
        for name, part in model.named_modules(remove_duplicate=False)
    }


def module_paths(model: onnx.ModelProto, names: Mapping[str, str]) -> None:
    """Write the path on every node for which it is known, in place. `names`: see traced_names."""
    of_scope = functools.cache(lambda scope: _of_torchscript(scope.split("/")[1:], names))
    for graph in every_graph(model.graph):
        for node in graph.node:
            metadata = {entry.key: entry.value for entry in node.metadata_props}
            if SCOPES in metadata:
                traced = _of_dynamo(node, metadata, names)
            else:  # names without a scope are not from the model's forward
                traced = of_scope(node.name.rpartition("/")[0]) if node.name.startswith("/") else None
            if traced is not None and traced in names:
                node.metadata_props.add(key=MODULE, value=names[traced])


def module_path(node: onnx.NodeProto) -> str | None:
    """The path on a node; None where it is not known."""
    paths: list[str] = [entry.value for entry in node.metadata_props if entry.key == MODULE]
    return paths[0] if paths else None


def _of_dynamo(node: onnx.NodeProto, metadata: Mapping[str, str], names: Mapping[str, str]) -> str | None:
    """The last scope but one; the last is the operator's. A Conv that took in its batch norm has that one's scopes."""
    if "FuseBatchNorm" in metadata.get(RULES, ""):
        owner: str = node.input[1].rpartition(".")[0]  # of conv1.weight
        if owner in names:
            return owner
    scopes = [str(scope).partition("@")[0] for scope in ast.literal_eval(metadata[SCOPES])]
    return scopes[-2] if len(scopes) > 1 else None


def _of_torchscript(scopes: list[str], names: Mapping[str, str]) -> str:
    """A scope is a name's last atom that is no number, and what follows: "layer1.0". The last may end in "_<call>"."""
    path = ""
    for index, scope in enumerate(scopes):
        candidates = [scope, re.sub(r"_\d+$", "", scope)] if index == len(scopes) - 1 else [scope]
        deeper = next(filter(None, (_nearest_below(path, candidate, names) for candidate in candidates)), None)
        if deeper is None:
            break
        path = deeper
    return path


def _nearest_below(path: str, scope: str, names: Mapping[str, str]) -> str | None:
    """The one module of that scope that is nearest below a path, else anywhere; None if there is none, or several."""
    fitting = [name for name in names if name == scope or name.endswith(f".{scope}")]
    below = [name for name in fitting if not path or name.startswith(f"{path}.")] or fitting
    depth = min((name.count(".") for name in below), default=0)
    nearest = [name for name in below if name.count(".") == depth]
    return nearest[0] if len({names[name] for name in nearest}) == 1 else None
