"""Which tensors of the two sides belong together, by the names of modules and marks; nothing has run in the graph yet.

A group is what both sides have in one role: what a module takes or gives over all its calls, or a mark. In most groups
both sides have one tensor, or equally many, in order. The others are sorted out by shape: see matching.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import onnx
from torch import nn

from pipeline.alignment.eager_run import IN, MARKED, OUT, EagerRun, Role
from pipeline.alignment.graph_flow import GraphFlow, with_parents
from rewriters.graph_passes.marks import marks

SILENT = (nn.modules.dropout._DropoutNd, nn.Identity)  # noqa: SLF001 - torch has no public name for all of a kind
"""Change nothing, so nobody needs to know that they are gone."""
FOLDED = (nn.modules.batchnorm._BatchNorm, nn.ReLU, nn.ReLU6, nn.Hardswish, nn.SiLU, *SILENT)  # noqa: SLF001 - see above
GONE = "no node of the graph has its name: its result is a constant there, or another form computes it"
INSIDE = "its nodes give nothing that PyTorch's module gives: another form computes it, or they are in a loop or branch"


@dataclass(frozen=True)
class Group:
    """`numbers` of PyTorch's tensors and names of the graph's `tensors`, of one role."""

    role: Role
    numbers: tuple[int, ...]
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """`groups` in graph order; `fused`: modules that the exporter folded into the one that makes a tensor.

    `absent`: the modules that ran and of which nothing could be paired, with the reason.
    """

    groups: tuple[Group, ...]
    fused: Mapping[int, tuple[str, ...]]
    absent: Mapping[str, str]


def plan_pairs(
    model: onnx.ModelProto,
    flow: GraphFlow,
    run: EagerRun,
    modules: Mapping[str, nn.Module],
    rearranged: tuple[type[nn.Module], ...],
) -> Plan:
    """`modules`: those of the model, by name. `rearranged`: as in Contract."""
    inside = _inside(modules, rearranged)
    folded = dict(_folded(flow, run, modules))
    final: dict[int, tuple[int, tuple[str, ...]]] = {}
    for number in folded:
        end, names = number, tuple[str, ...]()
        while end in folded:
            end, name = folded[end]
            names += () if isinstance(modules[name], SILENT) else (name,)
        final[number] = end, names
    graph_side = _graph_roles(model, flow)
    sides = []
    for role, numbers in run.roles.items():
        if role[0] in inside and role[1] != MARKED:
            continue
        after = role[1] in (OUT, MARKED)
        sides.append((role, [final[n][0] if after and n in final else n for n in numbers], graph_side.get(role, [])))
    groups = tuple(sorted(_groups(flow, sides), key=lambda group: max(map(flow.order, group.tensors))))
    fused = {end: names for end, names in final.values() if names}
    paired = {number for group in groups for number in group.numbers}
    paired |= {number for number, (end, _) in final.items() if end in paired}
    vanished = {name for names in fused.values() for name in names}
    return Plan(groups, fused, _absent(flow, run, modules, paired, vanished | inside))


def _inside(modules: Mapping[str, nn.Module], kinds: tuple[type[nn.Module], ...]) -> set[str]:
    """The names of the modules within one of these kinds, themselves left out."""
    return {
        f"{name}.{inner}"
        for name, module in modules.items()
        if isinstance(module, kinds)
        for inner, _ in module.named_modules()
        if inner
    }


def _folded(flow: GraphFlow, run: EagerRun, modules: Mapping[str, nn.Module]) -> Iterator[tuple[int, tuple[int, str]]]:
    """What a module without nodes takes -> what it gives, and its name."""
    for name, calls in run.calls.items():
        if name in flow.present or not isinstance(modules[name], FOLDED):
            continue
        if not flow.norms.isdisjoint(with_parents(name.rpartition(".")[0])):
            continue  # it may be there under the name of a module around it
        for took, gave in calls:
            if len(took) == len(gave) == 1 and took != gave:
                yield took[0], (gave[0], name)


def _graph_roles(model: onnx.ModelProto, flow: GraphFlow) -> dict[Role, list[str]]:
    roles: dict[Role, list[str]] = {}
    for side, tensors_of_module in ((IN, flow.entering), (OUT, flow.leaving)):
        roles |= {(name, side): tensors for name, tensors in tensors_of_module.items()}
    for name, tensor in marks(model.graph):
        if tensor in flow.varying:
            roles.setdefault((name, MARKED), []).append(tensor)
    return roles


def _groups(flow: GraphFlow, sides: Sequence[tuple[Role, list[int], list[str]]]) -> Iterator[Group]:
    """Marks first, then what leaves the innermost modules, then what enters them: the surest first.

    What one group has paired is left out of the others; only tensors that are equally many on both sides are sure. A
    tensor and what it is in other precisions are one.
    """
    taken_numbers: set[int] = set()
    taken_tensors: set[str] = set()

    def surety(side: tuple[Role, list[int], list[str]]) -> tuple[bool, bool, int, bool]:
        (name, kind), numbers, tensors = side
        return kind != MARKED, len(numbers) != len(tensors), -name.count(".") - bool(name), kind == IN

    for role, all_numbers, all_tensors in sorted(sides, key=surety):
        numbers = [number for number in all_numbers if number not in taken_numbers]
        tensors: dict[str, str] = {}
        for name in all_tensors:
            if name in flow.makers and (source := flow.original(name)) not in taken_tensors:
                tensors.setdefault(source, name)
        if not numbers or not tensors:
            continue
        taken_numbers.update(numbers)
        taken_tensors.update(tensors)
        yield Group(role, tuple(numbers), tuple(tensors.values()))


def _absent(
    flow: GraphFlow, run: EagerRun, modules: Mapping[str, nn.Module], paired: set[int], vanished: set[str]
) -> Mapping[str, str]:
    """Those without modules in them, of which no tensor that they give is paired, whatever it is paired by."""
    absent = {}
    for name, module in modules.items():
        if name not in run.calls or name in vanished or isinstance(module, SILENT) or any(module.children()):
            continue
        if paired.isdisjoint(run.roles.get((name, OUT), ())):
            absent[name] = INSIDE if name in flow.present else GONE
    return absent
