"""The tensors of any module, by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from zoo.errors import InputError
from zoo.tasks.class_info import ClassInfo
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.saving import npz
from zoo.tasks.task import Array, Task
from zoo.tasks.tensors.result import TensorsResult
from zoo.tensor_spec import TensorSpec


@register_task
class Tensors(Task):
    """What a module gives, by name. There are no classes, and no metric but the user's.

    `keep`: the names of the outputs that are kept, in this order; empty for all, whose names a run of the module tells.
    `rows`: those of them, [N, P, ...], whose P rows are a set together: their order may change, that of all alike.
    """

    name: ClassVar[str] = "tensors"
    metric: ClassVar[None] = None
    truth: ClassVar[tuple[str, ...]] = ()
    result_type: ClassVar[type[Result]] = TensorsResult
    proof_class: ClassVar[str] = "zoo.tasks.tensors.proof:TensorsProof"
    suffixes: ClassVar[tuple[str, ...]] = (".npz",)
    has_classes: ClassVar[bool] = False
    gates: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "graph": {"changed": 1e-4},  # the part of the values of a whole-number output that may be others
        "pipeline": {"logits": 0.01, "changed": 0.001},  # of the range; more where the rounding of the input moves more
    }
    OPTIONS: ClassVar[Mapping[str, type]] = {"keep": tuple, "rows": tuple}

    def __init__(
        self,
        classes: Iterable[ClassInfo | Mapping[str, Any]] = (),
        *,
        keep: Sequence[str] = (),
        rows: Sequence[str] = (),
    ) -> None:
        super().__init__(classes)
        self.keep, self.rows = tuple(keep), tuple(rows)
        for option, names in (("keep", self.keep), ("rows", self.rows)):
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise InputError(f'task {self.name}: {option} has "{twice}" twice; name each output once')
        if unknown := [name for name in self.rows if self.keep and name not in self.keep]:
            raise InputError(f'task {self.name}: rows has "{unknown[0]}", which is not in keep; add it there')

    @property
    def roles(self) -> Roles:
        """Those of `rows`."""
        return dict.fromkeys(self.rows, OutputRole.ROW)

    def amount(self, result: TensorsResult) -> int:
        """A module gives its tensors for every input."""
        return 1

    def caption(self, result: TensorsResult) -> str:
        """Names, shapes and values."""
        return "; ".join(f"{name} {list(array.shape)}: {extent(array)}" for name, array in result.items())

    def files(self, image: Array, result: TensorsResult) -> Iterator[tuple[str, bytes]]:
        """The arrays, by name, as `numpy.load` reads them."""
        yield ".npz", npz(result.arrays)

    def _draw(self, image: Array, result: TensorsResult) -> Array:
        """The image, and beside it a panel for each of the first outputs: its values as a map, or a histogram."""
        from zoo.tasks.tensors.panels import beside  # most processes never draw

        return beside(image, result)

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        return tuple(TensorSpec(name, "float32", ()) for name in self.keep) if level == "final" else ()

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Any]) -> list[Result]:
        names = self.keep or tuple(outputs)
        return [
            TensorsResult({name: outputs[name][place].copy() for name in names}) for place in range(len(geometries))
        ]


def extent(array: Array) -> str:
    """The smallest and the largest value, in words."""
    if not array.size:
        return "no values"
    low, high = array.min(), array.max()
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
