"""What a model is deployed for: backend, precision, exporter, opset, input shapes, level, device (torch-free)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from zoo.errors import InputError, nearest
from zoo.options import Options
from zoo.precision_options import PrecisionOptions

DEFAULT_BACKEND = "onnxruntime"  # where none is named; it also stands in, for proofs, for one that cannot run here
REFERENCE_BACKEND = "pytorch"  # the unpatched model, which all others are compared with
BACKEND_NAME = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
PRECISIONS = ("fp32", "fp16", "int8")
EXPORTERS = ("dynamo", "torchscript")
FINAL, PILLARS = "final", "pillars"
LEVELS = (FINAL, "decoded", "raw", "plugin", PILLARS)
RESULTS = (FINAL, PILLARS)  # those whose deployments give results
DEFAULT_LAYOUT = "zooport"  # the outputs of the contract; the others are those of families of models
BATCH = "batch"  # the axis that the inputs of every kind have
SLIDES = ("graph", "host")
CHOICES: Mapping[str, tuple[str, ...]] = {  # the fields of a target that have one of some names
    "precision": PRECISIONS,
    "exporter": EXPORTERS,
    "level": LEVELS,
    "slide": SLIDES,
}
OPSETS = range(17, 27)
DYNAMO_MIN_OPSET = 18  # below it the dynamo exporter writes files that ONNX Runtime refuses
TORCHSCRIPT_MAX_OPSET = 20  # what torch's torchscript exporter writes at most
DEFAULT_MAX_BATCH = 8


def check_choices(**values: str | None) -> None:
    """Check values of the fields in CHOICES, those that are not None. Raises InputError that has the nearest names."""
    for name, value in values.items():
        if value is not None:
            _check_choice(name, value)


def _check_choice(name: str, value: str) -> None:
    known = CHOICES[name]
    if value not in known:
        raise InputError(f'unknown {name} "{value}"; {nearest(str(value), known)}')


@dataclass(frozen=True)
class AxisRange:
    """The sizes that one input axis may take, in elements: ``min <= opt <= max``; static where all are equal."""

    min: int
    opt: int
    max: int

    def __post_init__(self) -> None:
        if not 1 <= self.min <= self.opt <= self.max:
            raise InputError(
                f"axis range {self.min}:{self.opt}:{self.max}: expected 1 <= min <= opt <= max; "
                "give min:opt:max in rising order, for example 1:2:8"
            )

    @classmethod
    def fixed(cls, size: int) -> Self:
        """The range that holds one size."""
        return cls(size, size, size)

    @property
    def dynamic(self) -> bool:
        """Whether more than one size is allowed."""
        return self.min != self.max

    def __contains__(self, size: int) -> bool:
        return self.min <= size <= self.max

    def other(self, divisor: int = 1) -> int:
        """A size besides the preferred one, odd where the range has room; the preferred one if it is fixed.

        With a ``divisor`` one of its multiples, as all sizes of the axis are.
        """
        step = self.opt // 4 + 3
        further = (self.opt + step | 1, self.opt - step | 1)
        if divisor > 1:
            more = -(-step // divisor) * divisor
            further = (self.opt + more, self.opt - more)
        for size in (*further, self.max, self.min):
            if size in self and size != self.opt:
                return size
        return self.opt


DEFAULT_BATCH = AxisRange(1, 2, DEFAULT_MAX_BATCH)


@dataclass(frozen=True)
class Target:
    """What a model is deployed for. Frozen and hashable.

    ``axes``: the axes of the graph's inputs by name, ``batch`` first; images also have ``height`` and ``width``, in
    pixels, see zoo.input_kinds. The default ``batch`` is 1 to 8. ``image_sizes``: whether the graph has a second input
    ``image_sizes`` int64 [N, 2] (h, w), the size of each image in a padded batch.
    ``slide``, for segmentors with sliding windows: "graph" for the whole inference in the graph; "host" for a graph of
    one window, while the host cuts and joins the windows (backends.slide_runner). ``window_batch``: how many windows
    run at once; None for 8, or for all of them if a graph takes any size. ``layout``: the outputs of the contract, or a
    layout of the model's family, which other tools read (zoo.families.Layout). ``thresholds``: whether a detector's
    graph has the inputs ``score_threshold`` and ``iou_threshold``, float32 [1], which may be left out.
    ``engine``: build options of the backend, of the class that it declares; None for the config's, or without a config
    for the backend's defaults. ``precision_options``: how the graph is brought to fp16 or int8.
    Raises InputError if a field has an unknown value, naming the nearest known ones.
    """

    axes: Mapping[str, AxisRange] = field(hash=False)
    backend: str = DEFAULT_BACKEND
    precision: str = "fp32"
    exporter: str = "dynamo"
    opset: int = 20
    level: str = FINAL
    device: str = "cpu"
    image_sizes: bool = False
    slide: str = "graph"
    window_batch: int | None = None
    layout: str = DEFAULT_LAYOUT
    thresholds: bool = False
    engine: Options | None = None
    precision_options: PrecisionOptions = field(default_factory=PrecisionOptions)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", {BATCH: DEFAULT_BATCH, **self.axes})
        for name in CHOICES:
            _check_choice(name, getattr(self, name))
        if not isinstance(self.backend, str) or not BACKEND_NAME.fullmatch(self.backend):
            raise InputError(f"backend {self.backend!r}: expected a name of lower-case letters, digits and . _ -")
        self._check_options()
        if isinstance(self.opset, bool) or not isinstance(self.opset, int) or self.opset not in OPSETS:
            raise InputError(f"opset {self.opset!r}: expected {OPSETS.start} to {OPSETS.stop - 1}")
        if self.exporter == "dynamo" and self.opset < DYNAMO_MIN_OPSET:
            raise InputError(
                f"opset {self.opset} with exporter dynamo: expected {DYNAMO_MIN_OPSET} or above, because torch writes "
                "files below it that ONNX Runtime refuses; give --opset 20 or --exporter torchscript"
            )
        if self.exporter == "torchscript" and self.opset > TORCHSCRIPT_MAX_OPSET:
            raise InputError(
                f"opset {self.opset} with exporter torchscript: it writes up to {TORCHSCRIPT_MAX_OPSET}; "
                "give --exporter dynamo or a lower --opset"
            )

    def _check_options(self) -> None:
        """Options that do not fit one another."""
        if self.thresholds and self.level != FINAL:
            raise InputError(
                f"thresholds as inputs with output level {self.level}: nothing is decided there; use level final"
            )
        if self.precision_options.half_io and self.precision != "fp16":
            raise InputError(f"fp16 inputs and outputs with precision {self.precision}: they are for precision fp16")
        if self.precision_options.half_io and self.slide == "host":
            raise InputError(
                "slide host with fp16 inputs and outputs: the host cuts and joins windows in float32; leave out one of "
                "--slide host and --half-io"
            )
        if self.precision_options.half_io and self.level == PILLARS:
            raise InputError(
                "output level pillars with fp16 inputs and outputs: the host puts points into pillars in float32; "
                "leave out one of --output-level pillars and --half-io"
            )
        if self.window_batch is not None and (type(self.window_batch) is not int or self.window_batch < 1):
            raise InputError(f"window_batch {self.window_batch!r}: expected a number of windows, 1 or more")

    @property
    def has_results(self) -> bool:
        """Whether a deployment gives results, and not only tensors."""
        return self.level in RESULTS

    @property
    def dynamic_axes(self) -> tuple[str, ...]:
        """The names of the axes that may vary, in the order of ``axes``."""
        return tuple(axis for axis, bounds in self.axes.items() if bounds.dynamic)

    @property
    def one_size(self) -> bool:
        """Whether all images have one height and width."""
        return not self.image_sizes and self.fixed_sides

    @property
    def fixed_sides(self) -> bool:
        """Whether every batch of images has one height and width; its images may end before it does."""
        return not {"height", "width"} & {*self.dynamic_axes}

    @property
    def batch(self) -> AxisRange:
        """How many inputs one call takes."""
        return self.axes[BATCH]

    @property
    def sides(self) -> Mapping[str, AxisRange]:
        """The axes of one input: all but the batch."""
        return {axis: bounds for axis, bounds in self.axes.items() if axis != BATCH}

    @property
    def preferred(self) -> Mapping[str, int]:
        """The preferred size of each of ``sides``."""
        return {axis: bounds.opt for axis, bounds in self.sides.items()}

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields or axes changed. Raises InputError for an unknown one."""
        known = [*self.axes, *(each.name for each in fields(self))]
        for name in changes:
            if name not in known:
                raise InputError(f'unknown target field "{name}"; {nearest(name, known)}')
        axes = {axis: changes.pop(axis, bounds) for axis, bounds in changes.pop("axes", self.axes).items()}
        return replace(self, axes=axes, **changes)
