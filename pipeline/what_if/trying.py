"""What-if runs: named modules in fp32, all else in fp16 or int8, and what each choice is worth."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from backends.loading import load_graph
from pipeline.precision.sensitivity import ITSELF, Make, sensitivity
from pipeline.what_if.fp32_graph import Fp32Graph
from pipeline.what_if.judges import Judge
from pipeline.what_if.search import Kept, search
from rewriters.precision.nothing_to_cast import NothingToCastError
from rewriters.precision.report import computing_nodes
from rewriters.precision.rounded import rounded
from zoo.manifest import ONNX_FILE


@dataclass(frozen=True)
class Trial:
    """`kept`: modules in fp32. `layers`: how many layers are of which dtype. `value`: the judge's, in its unit.

    `difference`: of the value to PyTorch's. `good`: whether it is within the tolerance.
    """

    kept: Kept
    layers: Mapping[str, int]
    value: float
    difference: float
    good: bool


@dataclass
class Trials:
    """Tries choices of one graph, each once. `make`: to_fp16 or to_int8; `tell` hears of each trial as it is done.

    Judged is the graph in ONNX Runtime on the CPU; of fp16 with every fp16 result rounded to fp16.
    """

    graph: Fp32Graph
    make: Make
    judge: Judge
    tell: Callable[[Trial], None] = lambda _trial: None
    done: dict[Kept, Trial] = field(default_factory=dict)

    def try_out(self, kept: Iterable[str]) -> Trial:
        """Raises ExportError where a name is no module's."""
        chosen = tuple(kept)
        if chosen not in self.done:
            self.done[chosen] = self._tried(chosen)
            self.tell(self.done[chosen])
        return self.done[chosen]

    def search(self, depth: int, told: Callable[[str, int, int], None]) -> Kept:
        """Few modules that must stay in fp32, see `search`; the ranking is that of `sensitivity`."""
        none = replace(self.graph.options, keep_fp32=())
        if self.try_out(()).good:
            return ()
        _, rows = sensitivity(self.graph.model, self.make, none, self.graph.feeds, depth=depth, progress=told)
        ranked = dict.fromkeys(row.module.removesuffix(ITSELF).rstrip(".") for row in rows)
        return search([name for name in ranked if name], lambda kept: self.try_out(kept).good)

    def _tried(self, kept: Kept) -> Trial:
        options = replace(self.graph.options, keep_fp32=kept, half_io=False)
        try:
            made, _ = self.make(self.graph.model, options, self.graph.feeds)
        except NothingToCastError:
            if not kept:
                raise
            return Trial(kept, computing_nodes(self.graph.model), self.judge.reference, 0.0, good=True)
        value = self._value(made)
        difference = value - self.judge.reference
        return Trial(kept, computing_nodes(made), value, difference, good=abs(difference) <= self.judge.tolerance)

    def _value(self, made: onnx.ModelProto) -> float:
        with TemporaryDirectory(prefix="zooport-what-if-") as folder:
            path = Path(folder) / ONNX_FILE
            onnx.save(rounded(made), path)  # nothing is changed where nothing is fp16
            with load_graph(self.graph.place, "run by ONNX Runtime", path) as candidate:
                return self.judge.value(candidate)
