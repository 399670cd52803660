"""What-if runs: named modules in fp32, all else in fp16 or int8, and what each choice is worth."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from backends.loading import load_graph
from pipeline.precision.sensitivity import ITSELF, Make, sensitivity
from pipeline.what_if.fp32_graph import Fp32Graph
from pipeline.what_if.judges import Judge
from pipeline.what_if.search import Kept, search
from rewriters.precision.modules import nodes_of_modules
from rewriters.precision.nothing_to_cast import NothingToCastError
from rewriters.precision.report import computing_nodes
from rewriters.precision.rounded import rounded
from zoo.errors import ExportError
from zoo.manifest import ONNX_FILE
from zoo.progress import Progress

RANKED_ON = 8  # calibration images; the ranking is a first guess, and the judge decides


@dataclass(frozen=True)
class Trial:
    """`kept`: modules in fp32. `layers`: how many layers are of which dtype. `value`: the judge's, in its unit.

    `difference`: of the value to PyTorch's; `good`: whether it is within the tolerance, on either side.
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

    def check(self, choices: Iterable[Sequence[str]]) -> None:
        """Raises ExportError where a name is no module's, before one of the choices is tried."""
        nodes_of_modules(self.graph.graph, [name for choice in choices for name in choice])

    def try_out(self, kept: Iterable[str]) -> Trial:
        """Raises ExportError where a name is no module's, or the graph cannot be made."""
        chosen = tuple(dict.fromkeys(kept))
        if chosen not in self.done:
            self.done[chosen] = self._tried(chosen)
            self.tell(self.done[chosen])
        return self.done[chosen]

    def search(self, depth: int, progress: Progress) -> Kept:
        """Few modules that must stay in fp32, see `search`; the ranking is that of `sensitivity`.

        Raises ExportError where not even all of them are enough.
        """
        if self.try_out(()).good:
            return ()
        options = replace(self.graph.options, keep_fp32=())
        few = self.graph.feeds[:RANKED_ON]
        _, rows = sensitivity(self.graph.graph, self.make, options, few, depth=depth, progress=progress)
        names = dict.fromkeys(row.module.removesuffix(ITSELF).rstrip(".") for row in rows)
        kept_names = search([name for name in names if name], lambda kept: self.try_out(kept).good)
        if kept_names is None:
            raise ExportError(
                f"with all {len(names)} modules in fp32 the difference is still past the tolerance: layers in the "
                "model's own forward belong to no module that could be named; put them into one, or deploy with "
                "precision fp32"
            )
        return kept_names

    def _tried(self, kept: Kept) -> Trial:
        options = replace(self.graph.options, keep_fp32=kept, half_io=False)
        try:
            candidate, _ = self.make(self.graph.graph, options, self.graph.feeds)
        except NothingToCastError:
            if not kept:
                raise
            candidate = self.graph.graph
        value = self._value(candidate)
        difference = value - self.judge.reference
        good = isfinite(difference) and abs(difference) <= self.judge.tolerance
        return Trial(kept, computing_nodes(candidate), value, difference, good)

    def _value(self, model: onnx.ModelProto) -> float:
        with TemporaryDirectory(prefix="zooport-what-if-") as folder:
            path = Path(folder) / ONNX_FILE
            onnx.save(rounded(model), path)  # nothing is changed where nothing is fp16
            with load_graph(self.graph.place, "run by ONNX Runtime", path) as candidate:
                return self.judge.value(candidate)
