"""Operators of a domain of one's own: nodes that no standard operator can express, with a kernel in Python.

    @symbolic("mylib::two_a_plus_b", reason="no standard operator", written_for="mylib 1.0")
    def two_a_plus_b(b: GraphBuilder, x: str, y: str) -> str:
        return b.node("TwoAPlusB", x, y, domain="mydomain")

    @kernel("mydomain::TwoAPlusB")
    def two_a_plus_b_kernel(x, y):
        return 2 * x + y

The kernel serves onnx's ReferenceEvaluator (here) and ONNX Runtime with onnxruntime-extensions (see extensions). It
takes the node's inputs as arrays and its attributes by name, and gives one array.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from rewriters.onnx_graph.custom_nodes import RUN_DOMAINS, custom_nodes
from zoo.errors import ExportError, nearest

Function = TypeVar("Function", bound=Callable[..., NDArray[Any]])


@dataclass(frozen=True)
class Kernel:
    """What the nodes of one type compute."""

    domain: str
    op_type: str
    function: Callable[..., NDArray[Any]]
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, str]

    @property
    def name(self) -> str:
        """``mydomain::TwoAPlusB``."""
        return f"{self.domain}::{self.op_type}"


KERNELS: dict[str, Kernel] = {}


def kernel(
    name: str,
    *,
    inputs: tuple[str, ...] | None = None,
    output: str = "float32",
    attributes: Mapping[str, str] | None = None,
) -> Callable[[Function], Function]:
    """Declare the decorated function as what nodes ``domain::OpType`` compute.

    `inputs` and `output`: dtypes, float32 by default, and `attributes`: "int64", "float32" or "string" by name;
    onnxruntime-extensions alone asks for them. Raises ExportError for a bad name, and for another function of a name
    that is declared.
    """
    domain, _, op_type = name.partition("::")
    if not op_type.isidentifier() or not re.fullmatch(r"[A-Za-z_][\w.\-]*", domain) or domain in RUN_DOMAINS:
        raise ExportError(f'kernel: "{name}" is not an operator of a custom domain; expected "mydomain::OpType"')

    def register(function: Function) -> Function:
        parameters = inspect.signature(function).parameters.values()
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        before = KERNELS.get(name)
        if before is not None and _place(before.function) != _place(function):
            raise ExportError(f"kernel {name}: declared twice, in {_place(before.function)} and {_place(function)}")
        dtypes = ("float32",) * len(positional) if inputs is None else inputs
        KERNELS[name] = Kernel(domain, op_type, function, dtypes, output, attributes or {})
        return function

    return register


def _place(function: Callable[..., Any]) -> str:
    """Module and name: the same for a module that is imported again."""
    return f"{function.__module__}.{function.__qualname__}"


def kernels_of(model: onnx.ModelProto) -> Mapping[str, Kernel]:
    """The kernels of a model's custom nodes, by name. Raises ExportError for a node that has none."""
    kernels = {}
    for node in custom_nodes(model):
        name = f"{node.domain}::{node.op_type}"
        if name not in KERNELS:
            known = nearest(name, KERNELS) if KERNELS else "none is declared"
            raise ExportError(f"{name} has no kernel; {known}; declare one with @kernel")
        kernels[name] = KERNELS[name]
    return kernels


def run_with_kernels(
    model: onnx.ModelProto, feed: Mapping[str, NDArray[Any]], names: Sequence[str] | None = None
) -> list[Any]:
    """The outputs of those names, or all, by onnx's ReferenceEvaluator. Raises ExportError with its reason."""
    evaluator = reference_evaluator(model)
    try:
        return list(evaluator.run(None if names is None else list(names), dict(feed)))
    except Exception as error:  # a kernel is anybody's code
        raise ExportError(f"onnx's ReferenceEvaluator fails on the exported graph: {error}") from error


def reference_evaluator(model: onnx.ModelProto) -> ReferenceEvaluator:
    """An evaluator that knows the model's custom nodes. Its `run(names, arrays)` gives the outputs."""
    return ReferenceEvaluator(model, new_ops=[_op_run(kernel) for kernel in kernels_of(model).values()])


def _op_run(kernel: Kernel) -> type[OpRun]:
    def run(_self: OpRun, *inputs: NDArray[Any], **attributes: Any) -> tuple[NDArray[Any]]:
        result = kernel.function(*inputs, **attributes)
        if not isinstance(result, np.ndarray | np.generic):
            raise ExportError(f"the kernel of {kernel.name} gives a {type(result).__name__}, expected one array")
        return (np.asarray(result),)

    return type(kernel.op_type, (OpRun,), {"op_domain": kernel.domain, "_run": run})
