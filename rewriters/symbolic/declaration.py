"""Declaring symbolic rewriters: an operator of torch, its translation into ONNX, why, and for which targets.

Both exporters write such an operator as one node, and the translation takes its place (see rewriters.ops.operator). So
one function serves both, and every opset and dtype that its ONNX operators have.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
import torchvision.ops  # noqa: F401  # registers torch.ops.torchvision

from rewriters.ops.operator import OPERATORS, Case, Operator, ResultType, Translation
from rewriters.patching.rewriter import Limits, most_specific
from zoo.dialect import RUNTIME, STANDARD
from zoo.errors import ExportError, nearest
from zoo.target import OPSETS, TORCHSCRIPT_MAX_OPSET, Target

Declared = TypeVar("Declared", bound=Translation)
TENSORS = ("Tensor", "Optional[Tensor]")


@dataclass(frozen=True)
class SymbolicRewriter:
    """A translation of one operator of torch, with the reason."""

    operator: Operator
    reason: str
    written_for: str
    limits: Limits

    @property
    def name(self) -> str:
        """As torch names the operator, ``aten::sort.stable``."""
        return self.operator.name


SYMBOLIC_REWRITERS: list[SymbolicRewriter] = []


def symbolic(
    name: str,
    *,
    reason: str,
    written_for: str,
    backend: str | None = None,
    exporter: str | None = None,
    opset: tuple[int, int] | None = None,
    library: str | None = None,
    lacks: str | None = None,
    when: Case | None = None,
    result_type: ResultType | None = None,
    promotes: bool = False,
) -> Callable[[Declared], Declared]:
    """Declare the decorated function as the translation of an operator, ``namespace::operator[.overload]``.

        @symbolic("aten::asinh", reason="torchscript has none", written_for="torch 2.15", exporter="torchscript")
        def asinh(b: GraphBuilder, x: str) -> str:
            return b.Asinh(x)

    It takes a GraphBuilder, the tensors by position (names; "" for an optional one that is not given), and all other
    arguments by their names in torch's schema, as plain Python; it gives the name of the result, or of each. `backend`,
    `exporter`, `opset`, `library` and `lacks` limit it to some targets (see Limits), and `when(ranks, **values)` to
    some calls: the others are left to the exporter. `result_type` says which sizes of the result torchscript may rely
    on (see rewriters.ops.operator); without it none, and what asks for one, as adaptive pooling does, is refused.
    `promotes`: the tensors come in the dtype of the result, as torch promotes them; otherwise in their own.
    Raises ExportError for an operator that torch does not know, a function that takes other arguments, limits that no
    target can have, a second declaration with the same limits, and a name that another operator's node has.
    """

    def register(translation: Declared) -> Declared:
        overload = find_overload(name)
        check_arity(overload, translation)
        operator = Operator(overload, result_type, {RUNTIME: translation, STANDARD: translation}, when, promotes)
        rewriter = SymbolicRewriter(operator, reason, written_for, Limits(backend, exporter, opset, library, lacks))
        if any(other.name == rewriter.name and other.limits == rewriter.limits for other in SYMBOLIC_REWRITERS):
            raise ExportError(f"symbolic {rewriter.name}: declared twice with the same limits; limit one of them")
        for other_operator in (*OPERATORS.values(), *(other.operator for other in SYMBOLIC_REWRITERS)):
            if other_operator.op_type == operator.op_type and other_operator.name != operator.name:
                raise ExportError(
                    f"symbolic {operator.name}: its nodes would be called {operator.op_type}, as those of "
                    f"{other_operator.name} are; rename one of the two"
                )
        SYMBOLIC_REWRITERS.append(rewriter)
        return translation

    return register


def find_overload(name: str) -> Any:
    """The operator of torch with that name. Raises ExportError, with the nearest names, where there is none."""
    namespace, _, rest = name.partition("::")
    operator, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), operator, None) if namespace and operator else None
    if packet is None:
        raise ExportError(f'symbolic: torch has no operator "{name}"; {nearest(name, _known_names())}')
    if (overload or "default") not in packet.overloads():
        known = [f"{namespace}::{operator}{'' if one == 'default' else f'.{one}'}" for one in packet.overloads()]
        raise ExportError(f'symbolic: torch has no overload "{name}"; {nearest(name, known)}')
    return getattr(packet, overload or "default")


def _known_names() -> list[str]:
    return sorted({schema.name for schema in torch._C._jit_get_all_schemas()})  # noqa: SLF001  # torch has no public list


def check_arity(overload: Any, translation: Callable[..., Any]) -> None:
    """Raises ExportError where a translation does not take what torch's schema of the operator gives."""
    schema = overload._schema  # noqa: SLF001  # torch has no public name for it
    kinds = {parameter.name: str(parameter.type) for parameter in schema.arguments}
    tensors = [name for name, kind in kinds.items() if kind in TENSORS]
    lists = any(kind == "List[Tensor]" for kind in kinds.values())
    constants = {name for name, kind in kinds.items() if kind not in (*TENSORS, "List[Tensor]")}
    parameters = list(inspect.signature(translation).parameters.values())
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    takes_rest = any(p.kind is p.VAR_KEYWORD for p in parameters)
    enough = variadic if lists else variadic or len(positional) == 1 + len(tensors)
    if not enough or not (named == constants or (takes_rest and named <= constants)):
        expected = ["b", *tensors, *(["*tensors"] if lists else ["*"] * bool(constants)), *sorted(constants)]
        raise ExportError(
            f"symbolic {overload.name()}: {getattr(translation, '__name__', translation)} takes "
            f"({', '.join(str(p) for p in parameters)}), expected ({', '.join(expected)}), because torch has {schema}"
        )


def symbolic_for(target: Target) -> list[SymbolicRewriter]:
    """The symbolic rewriters in force for a target: of several for one operator, the strictly most specific one.

    Raises ExportError where several admit the target and none is narrower than all others.
    """
    admitted: dict[str, list[SymbolicRewriter]] = {}
    for rewriter in SYMBOLIC_REWRITERS:
        if rewriter.limits.admit(target):
            admitted.setdefault(rewriter.name, []).append(rewriter)
    return [most_specific(f"symbolic {name}", rivals) for name, rivals in admitted.items()]


def operators_for(target: Target) -> Mapping[str, Operator]:
    """Our own operators and the symbolic rewriters for a target, by the type of their nodes."""
    return OPERATORS | {rewriter.operator.op_type: rewriter.operator for rewriter in symbolic_for(target)}


def other_opsets(target: Target, refusal: str) -> str:
    """What to add to the refusal of an operator that is translated at other opsets than the target's, or ""."""
    for rewriter in SYMBOLIC_REWRITERS:
        limits, name = rewriter.limits, rewriter.name.partition(".")[0]
        if limits.opset is None or limits.admit(target) or not replace(limits, opset=None).admit(target):
            continue
        newest = TORCHSCRIPT_MAX_OPSET if target.exporter == "torchscript" else OPSETS.stop - 1
        low, high = limits.opset[0], min(limits.opset[1], newest)
        if low <= high and (name in refusal or name.replace("::", ".") in refusal):
            return f"; {rewriter.name} is translated at opset {low} to {high}, got {target.opset}; give one of those"
    return ""
