"""The tensors of one run in PyTorch beside those of one run of the graph, in chunks of modules, to bound the memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray

from pipeline.alignment.eager_run import MARKED, EagerRun, run_eager
from pipeline.alignment.graph_flow import GraphFlow
from pipeline.alignment.judging import Judged, at_fault, judge
from pipeline.alignment.matching import Match, matches, near
from pipeline.alignment.planning import Group, plan_pairs
from pipeline.alignment.records import DIFFERS, EQUAL, ITSELF, SET, UNKNOWN, Pair
from pipeline.alignment.second_look import STRICT, rows_at_fault
from pipeline.graphs.graph_runs import graph_tensors, more_outputs, piece
from zoo.errors import ExportError, InputError
from zoo.progress import Progress
from zoo.tasks.contract import Contract

Array = NDArray[Any]
NAMED = 4  # modules in the name of a pair


class Matched(NamedTuple):
    """PyTorch's tensor for one of the graph: its `number`, and the `shape` of the graph's.

    `in_place`: it becomes the graph's by a reshape. `equal`: the two are equal.
    """

    number: int
    shape: tuple[int, ...]
    in_place: bool
    equal: bool


@dataclass
class Comparison:
    """One image's. `given`: inputs of the module, in forward's order; `extra`: what the graph takes beside them.

    After `compare`: `pairs`, `outputs` of the graph by itself, node by node, `changed`, `absent` and `last` as in
    Alignment; `matched`: the tensors of the graph to which one of PyTorch's belongs for sure.
    """

    module: Contract
    model: onnx.ModelProto
    given: Mapping[str, Array]
    extra: Mapping[str, Array]
    threshold: float
    memory: int
    pairs: list[Pair] = field(default_factory=list)
    outputs: dict[str, Array] = field(default_factory=dict)
    changed: float | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    forced: dict[str, Array] = field(default_factory=dict)
    last: str = ""
    matched: dict[str, Matched] = field(default_factory=dict)

    def compare(self, progress: Progress) -> EagerRun:
        """Run both sides; PyTorch's run, without the tensors."""
        self.flow = GraphFlow(self.model)
        run = run_eager(self.module, self.given)
        modules = dict(self.module.model.named_modules())
        self.plan = plan_pairs(self.model, self.flow, run, modules, self.module.rearranged)
        self.absent = self.plan.absent
        self.sizes = run.sizes
        self.outputs = graph_tensors(self.model, self._arrays, [value.name for value in self.model.graph.output])
        waiting = [part for group in self.plan.groups for part in self._parts(group)]
        total = len(waiting)
        while waiting:
            done, left = self._chunk(waiting[: self._fitting(waiting)])
            waiting[:done] = left
            progress("compare modules", total - len(waiting), total)
        self.pairs = [self._named(pair) for pair in sorted(self.pairs, key=lambda pair: self.flow.order(pair.tensor))]
        self.last = self._behind_the_last()
        return run

    def _parts(self, group: Group) -> list[Group]:
        """The group whole; call by call where it does not fit into the memory, and its tensors are near in order."""
        pairs = zip(group.numbers, group.tensors, strict=False)
        calls = [Group(group.role, (number,), (tensor,)) for number, tensor in pairs]
        if len(group.numbers) != len(group.tensors) or self._fitting(calls) == len(calls):
            return [group]
        left = calls
        while left:
            count = self._fitting(left)
            if not self._are_near(left[:count]):
                return [group]
            left = left[count:]
        return calls

    def _are_near(self, calls: Sequence[Group]) -> bool:
        try:
            tensors = self._tensors([call.tensors[0] for call in calls])
        except (ExportError, InputError):
            return False
        kept = run_eager(self.module, self.given, {call.numbers[0] for call in calls}).kept
        return all(near(kept[call.numbers[0]], tensors[call.tensors[0]], self.threshold) for call in calls)

    def _fitting(self, groups: Sequence[Group]) -> int:
        """How many groups fit into the memory, one at least: both sides hold every tensor."""
        held = 0
        for count, group in enumerate(groups):
            held += 2 * sum(self.sizes[number] for number in group.numbers)
            if held > self.memory and count:
                return count
        return len(groups)

    def _chunk(self, groups: Sequence[Group]) -> tuple[int, list[Group]]:
        """Compare the groups up to one from which on PyTorch's tensors must go in.

        How many were done, and what is left of the last one: tensors that are made of what goes in now, as masks are
        of labels that come in another order.
        """
        run = run_eager(self.module, self.given, {number for group in groups for number in group.numbers})
        try:
            tensors = self._tensors([name for group in groups for name in group.tensors])
        except (ExportError, InputError) as error:
            if len(groups) > 1:
                return self._chunk(groups[: len(groups) // 2])
            self.pairs.extend(
                Pair("", (), groups[0].role, name, UNKNOWN, note=str(error)) for name in groups[0].tensors
            )
            return 1, []
        for done, group in enumerate(groups, 1):
            before = set(self.forced)
            expected = [run.kept.pop(number) for number in group.numbers]
            arrays = [tensors.pop(name) for name in group.tensors]
            left = []
            for match in sorted(
                matches(expected, arrays, self.threshold), key=lambda match: self.flow.order(group.tensors[match.place])
            ):
                forced, tensor = self.forced.keys() - before, group.tensors[match.place]
                if match.number is not None and forced.intersection(self.flow.sources([tensor], forced)):
                    left.append(Group(group.role, (group.numbers[match.number],), (tensor,)))
                else:
                    self._add(group, match, arrays[match.place])
            if self.forced.keys() != before:
                return done, left
        return len(groups), []

    def _tensors(self, names: Sequence[str]) -> dict[str, Array]:
        """Of the graph, run from the forced tensors on where there are some."""
        if self.forced:
            ahead = self.flow.sources(names, {*self.forced})
            return graph_tensors(piece(self.model, ahead, names), self._arrays | self.forced, names)
        with more_outputs(self.model, names) as wider:
            tensors = graph_tensors(wider, self._arrays, list(dict.fromkeys((*names, *self.outputs))))
        self._check(tensors)
        return tensors

    @property
    def _arrays(self) -> dict[str, Array]:
        return {**self.given, **self.extra}

    def _check(self, tensors: Mapping[str, Array]) -> None:
        """Whether the graph's own outputs are what they are without the others."""
        for name, array in self.outputs.items():
            same = array.tobytes() == tensors[name].tobytes() and array.shape == tensors[name].shape
            gap = 0.0
            if not same:
                gap = np.inf
                if array.shape == tensors[name].shape:
                    gap = float(np.abs(array.astype(np.float64) - tensors[name]).max(initial=0.0))
            self.changed = max(self.changed or 0.0, gap)

    def _add(self, group: Group, match: Match, array: Array) -> None:
        tensor = group.tensors[match.place]
        chosen = tensor in self.flow.chosen
        sure = len(group.numbers) == len(group.tensors)
        judged: Judged = judge(match, array, self.threshold, chosen=chosen, sure=sure)
        number = None if match.number is None else group.numbers[match.number]
        if judged.astray and self.threshold <= STRICT and (count := self._at_fault(tensor, match)):
            judged = at_fault(judged, match, count)
        equal = judged.verdict == EQUAL
        if number is not None and match.layout is not None and (sure or equal):
            self.matched[tensor] = Matched(number, array.shape, match.layout.in_place, equal)
        if judged.force is not None:
            self.forced[tensor] = judged.force
        numbers = group.numbers if number is None else (number,)
        fused = tuple(name for number in numbers[:1] for name in self.plan.fused.get(number, ()))
        self.pairs.append(
            Pair(
                "",
                fused,
                group.role,
                tensor,
                judged.verdict,
                () if match.expected is None else match.expected.shape,
                array.shape,
                judged.figures,
                judged.note,
            )
        )

    def _at_fault(self, tensor: str, match: Match) -> int:
        """How many rows of a tensor differ for another reason than rounding; 0 where that cannot be found out."""
        assert match.expected is not None
        known = {name: match for name, match in self.matched.items() if match.equal and match.in_place}
        stops = self.flow.behind(tensor, known.keys() | self.forced.keys())[0]
        taken = {name: known[name] for name in stops if name not in self.forced}
        run = run_eager(self.module, self.given, {match.number for match in taken.values()})
        sources = {name: self.forced[name] for name in stops if name in self.forced}
        sources |= {name: run.kept[match.number].reshape(match.shape) for name, match in taken.items()}
        try:
            part = piece(self.model, self.flow.sources([tensor], set(stops)), [tensor])

            def found(arrays: Mapping[str, Array]) -> Array:
                return graph_tensors(part, {**self._arrays, **arrays}, [tensor])[tensor]

            return rows_at_fault(match.expected, found, sources, self.threshold)
        except (ExportError, InputError):
            return 0

    def _behind_the_last(self) -> str:
        compared = {pair.tensor for pair in self.pairs if pair.verdict in (EQUAL, SET, DIFFERS)}
        names = [name for end in self.outputs for name in self.flow.behind(end, compared)[1]]
        return _format_modules(tuple(dict.fromkeys(names)))

    def _named(self, pair: Pair) -> Pair:
        """With the modules between it and the compared tensors before it."""
        compared = {other.tensor for other in self.pairs if other.verdict in (EQUAL, SET, DIFFERS)}
        behind, modules = self.flow.behind(pair.tensor, compared)
        every = (*modules, *(name for name in pair.modules if name not in modules))
        name = _format_modules(every)
        mark = f' (mark "{pair.role[0]}")' if pair.role[1] == MARKED else ""
        return Pair(
            **{**pair.__dict__, "name": (name or pair.tensor) + mark, "modules": every, "behind": tuple(behind)}
        )


def _format_modules(modules: tuple[str, ...]) -> str:
    words = [name or ITSELF for name in modules[-NAMED:]]
    return (f"{len(modules) - NAMED} modules + " if len(modules) > NAMED else "") + " + ".join(words)
