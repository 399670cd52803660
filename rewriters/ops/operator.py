"""An operator of ours in an export: both exporters write it as one node, and its translation takes the node's place.

    torch.ops.zooport.x(tensors, values)  ->  zooport::X(tensors) {arguments: JSON of the values}  ->  ONNX operators

Symbolic rewriters do the same with operators of other libraries (see rewriters.symbolic).

So a translation is written once for both exporters, and may hold subgraphs, which neither lets a translation have.
Which one is chosen depends on the dialect of the target's backend: see zoo.dialect. The nodes are written by
torchscript_nodes and dynamo_nodes, and translated by translation.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
import torch
from torch.onnx import JitScalarType, errors  # type: ignore[attr-defined]  # JitScalarType is not in __all__

from zoo.dialect import OperatorForm
from zoo.errors import ExportError

DOMAIN, ARGUMENTS, RANKS, KINDS, RESULT = "zooport", "arguments", "ranks", "kinds", "result"  # a node's attributes
UNKNOWN = -1  # a rank that the exporter does not know
NO_KIND: int = onnx.TensorProto.UNDEFINED  # a dtype that it does not know
OPERATORS: dict[str, "Operator"] = {}

Translation = Callable[..., str | tuple[str, ...]]
"""(builder, *tensors, **values) -> the name of the result, or of each result, "" for one that no model asks for; a list
of tensors comes as so many tensors, and an optional tensor that is not given as ""."""
ResultType = Callable[[Sequence[Any], Mapping[str, Any]], Any]
"""(torchscript values of the tensors, values) -> the result's torchscript type: no size that another input changes.
None: dtype and number of axes as traced, or what the operator gives for tensors without data; no sizes at all."""


Case = Callable[..., bool]
"""(ranks of the tensors, **values) -> whether the translation is for such a call; the others are the exporter's."""


@dataclass(frozen=True)
class Operator:
    """`overload` is the torch operator; `translations` by operator form; `when` None: every call is translated.

    `promotes`: the translation gets the tensors in the dtype of the result, as torch computes it. `least_opset`: of the
    forms that need a later opset than the first that zooport writes.
    """

    overload: Any
    result_type: ResultType | None
    translations: Mapping[OperatorForm, Translation]
    when: Case | None = None
    promotes: bool = False
    least_opset: Mapping[OperatorForm, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As torch names it, ``zooport::nms_keep``."""
        return str(self.overload.name())

    @property
    def op_type(self) -> str:
        """As ONNX names such a thing: ``NmsKeep``; of other namespaces than ours ``TorchvisionDeformConv2D``."""
        return re.sub("[^0-9a-z]", "", self.name.removeprefix(f"{DOMAIN}::").title(), flags=re.IGNORECASE)

    @property
    def results(self) -> int:
        """How many tensors it gives."""
        return len(self.overload._schema.returns)  # noqa: SLF001  # torch has no public name for it

    def sorted_arguments(
        self, arguments: Sequence[Any], unpack: Callable[[Any], Sequence[Any]], value: Callable[[Any, str], Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """What an exporter gives for the operator's arguments, as tensors and as values by name.

        `unpack(argument)`: the tensors of a list; `value(argument, type)`: as plain Python, types as in torch's schema,
        or TypeError where it is no constant of the graph, which becomes an ExportError.
        """
        tensors, constants = [], {}
        for parameter, argument in zip(self.overload._schema.arguments, arguments, strict=True):  # noqa: SLF001  # see above
            kind = str(parameter.type)
            if kind in ("Tensor", "Optional[Tensor]"):
                tensors.append(argument)
            elif kind == "List[Tensor]":
                tensors.extend(unpack(argument))
            else:
                try:
                    constants[parameter.name] = value(argument, kind)
                    json.dumps(constants[parameter.name])
                except (TypeError, errors.SymbolicValueError) as error:
                    raise ExportError(
                        f"{self.name}: {parameter.name} is computed in the graph, and its translation needs a "
                        "constant; give the model a plain number, not one read from a tensor's shape or values"
                    ) from error
        return tensors, constants

    def of_no_data(
        self,
        arguments: Sequence[Any],
        constants: Mapping[str, Any],
        unpack: Callable[[Any], Sequence[Any]],
        stand_in: Callable[[Any], torch.Tensor | None],
    ) -> list[torch.Tensor]:
        """The results, on the device meta, of which dtype and number of axes hold; [] where they are not known.

        `stand_in(argument)`: a tensor on meta of its dtype and number of axes, or LookupError.
        """
        positional: list[Any] = []
        named: dict[str, Any] = {}
        try:
            for parameter, argument in zip(self.overload._schema.arguments, arguments, strict=True):  # noqa: SLF001  # see above
                kind = str(parameter.type)
                filled: Any
                if kind == "List[Tensor]":
                    filled = [stand_in(tensor) for tensor in unpack(argument)]
                else:
                    filled = constants[parameter.name] if parameter.name in constants else stand_in(argument)
                if parameter.kwarg_only:
                    named[parameter.name] = filled
                else:
                    positional.append(filled)
            results = self.overload(*positional, **named)
        except (LookupError, RuntimeError, TypeError, ValueError):  # sizes that are not known may not fit
            return []
        return [results] if self.results == 1 else list(results)


def register(operator: Operator) -> None:
    """Add an operator to those that every export can translate."""
    OPERATORS[operator.op_type] = operator


def kind_of(scalar: JitScalarType) -> int:
    """ONNX's number of a torchscript dtype, NO_KIND where that is not known."""
    return NO_KIND if scalar is JitScalarType.UNDEFINED else int(scalar.onnx_type().value)
