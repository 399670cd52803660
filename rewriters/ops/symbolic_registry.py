"""Symbolic functions of torch's torchscript exporter, registered for a while; its registry is then as it was.

torch.onnx.register_custom_op_symbolic knows an operator's name and not its overload, and unregistering leaves an empty
entry and forgets what somebody else had registered. So each function of ours takes the calls of its own overload, the
others, and those for which it returns NotImplemented, go to who had them before, and all entries are put back.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.onnx._internal.torchscript_exporter.registration import registry
from torch.onnx._internal.torchscript_exporter.utils import _trigger_symbolic_function_registration
from torch.onnx.utils import register_custom_op_symbolic, unregister_custom_op_symbolic

from zoo.errors import ExportError

Symbolic = Callable[..., Any]


@contextmanager
def registered(functions: Mapping[str, Symbolic], opset: int) -> Iterator[None]:
    """`functions` by operator, ``aten::sort.stable``; the opset is the one that is exported, or a lower one."""
    by_name: dict[str, dict[str, Symbolic]] = {}
    for overload, function in functions.items():
        by_name.setdefault(overload.partition(".")[0], {})[overload] = function
    _trigger_symbolic_function_registration()  # torch's own come at its first export, too late to know who was before
    put_back: list[Callable[[], None]] = []
    try:
        for name, overloads in by_name.items():
            put_back.append(_undo(name, opset))
            group = registry.get_function_group(name)
            before = group.get(opset) if group is not None else None
            register_custom_op_symbolic(name, _dispatch(name, overloads, before), opset)
        yield
    finally:
        for undo in reversed(put_back):
            undo()


def _dispatch(name: str, overloads: Mapping[str, Symbolic], before: Symbolic | None) -> Symbolic:
    def dispatch(g: Any, *arguments: Any, **options: Any) -> Any:
        overload = _overload(g, overloads, len(arguments))
        if overload is not None:
            result = overloads[overload](g, *arguments)
            if result is not NotImplemented:
                return result
        if before is None:
            raise ExportError(f"{name}: neither torch's torchscript exporter nor zooport translates such a call")
        return before(g, *arguments, **options)

    return dispatch


def _overload(g: Any, known: Mapping[str, Symbolic], arguments: int) -> str | None:
    """Which of the known overloads a node calls; None for another one.

    The exporter takes numbers for tensors before it translates, so that nodes with numbers match no schema any more:
    among those the number of arguments tells the overloads apart.
    """
    schema = str(g.original_node.schema())
    if "::" in schema:
        overload = schema.partition("(")[0]
        return overload if overload in known else None
    return next((name for name in known if arguments == _count(name)), None)


def _count(overload: str) -> int:
    namespace, _, rest = overload.partition("::")
    operator, _, kind = rest.partition(".")
    return len(getattr(getattr(getattr(torch.ops, namespace), operator), kind or "default")._schema.arguments)  # noqa: SLF001


def _undo(name: str, opset: int) -> Callable[[], None]:
    """What makes the entry of an operator as it is now."""
    group = registry.get_function_group(name)
    functions = None if group is None else group._functions  # noqa: SLF001  # torch has no public name for it
    custom = functions[opset] if functions is not None and functions.overridden(opset) else None

    def undo() -> None:
        now = registry.get_function_group(name)
        if now is None:
            return
        if custom is not None:
            register_custom_op_symbolic(name, custom, opset)
        elif now._functions.overridden(opset):  # noqa: SLF001  # unregistering what is not there warns
            unregister_custom_op_symbolic(name, opset)
        if group is None and not now._functions:  # noqa: SLF001
            registry._registry.pop(name)  # noqa: SLF001

    return undo
