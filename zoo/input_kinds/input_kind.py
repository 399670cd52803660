"""The base of all input kinds."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.input_kinds.recording import Recording
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

Array = NDArray[Any]
MAX_BYTES = 2**27
"""Of the content of one file that comes from elsewhere: more than any camera writes."""


class InputKind(ABC):
    """What one kind of input is, as numpy arrays. A subclass registers itself by `register_input_kind`.

    Its `rule`, a frozen dataclass made of a config's or a manifest's section `preprocess`, says how an input becomes
    tensors; its geometries say where an input lies in them, and tasks use them on the way back. A data set's item has
    the input under the kind's `name`.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    """For messages: one input, in the singular."""
    size_axes: ClassVar[str] = ""
    """For pages: the numbers of `size_words`, if these words do not say what they are."""
    inputs: ClassVar[tuple[TensorSpec, ...]]
    """The graph's inputs of this kind: the one that holds the inputs themselves, batch axis first, then those that
    `companions` makes."""
    host_inputs: ClassVar[tuple[TensorSpec, ...]] = ()
    """Inputs of files that the backend makes of `inputs` on the host, see pipeline.export.host_part."""
    preprocess_schema: ClassVar[Mapping[str, Any]]
    """The JSON schema of a manifest's `preprocess`, in the words that zoo.manifest_schema knows."""

    proof_class: ClassVar[str]
    """Its zoo.input_kinds.proof.InputProof as "module:Class"; by name, because production has no torch."""
    training_class: ClassVar[str | None] = None
    """What training makes of a data set's items, as "module:Class", see zoo.datasets.training.kinds; None: its models
    are not trained here."""
    gates: ClassVar[Mapping[str, Mapping[str, float]]] = {}
    """Gates of proofs that this kind alone has: {"pipeline": {"input_max": ..., "input_mean": ...}}, in its unit."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Of the files that are one input, in lower case: what is taken from a folder."""
    recording_suffixes: ClassVar[tuple[str, ...]] = ()
    """Of the files that hold several inputs, see `recording`: taken from a folder where a model is run."""

    @property
    def one(self) -> str:
        """For pages: the noun with its article."""
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    @property
    def plural(self) -> str:
        """For pages: the noun of several."""
        return f"{self.noun}s"

    def size_words(self, size: Sequence[int]) -> str:
        """For pages: what a size is called, of which a measurement keeps two numbers."""
        return "x".join(map(str, size))

    @abstractmethod
    def specs(self, *, image_sizes: bool = False) -> tuple[TensorSpec, ...]:
        """Those of `inputs` that a graph takes, in its order. `image_sizes`: of the target, for images alone."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of `inputs` that may vary, `batch` first: those of a target, of `export.inputs`, of --dynamic."""
        return tuple(dict.fromkeys(axis for spec in self.inputs for axis in spec.axes.values()))

    @abstractmethod
    def sides(self, rule: Any) -> Mapping[str, AxisRange]:
        """The range of each of `axes` but the batch, where a config says nothing else of it."""

    def dynamic_side(self, axis: str, usual: AxisRange) -> AxisRange:
        """The range that `--dynamic AXIS` means, where `usual` is the config's. Raises InputError without one."""
        if usual.dynamic:
            return usual
        raise InputError(
            f"--dynamic {axis}: expected a range, for example {axis}={usual.opt}:{usual.opt}:{2 * usual.opt}"
        )

    def target_rule(self, rule: Any, sides: Mapping[str, AxisRange]) -> Any:
        """The `rule` for a target of these sizes."""
        return rule

    def metadata(self, sides: Mapping[str, AxisRange]) -> dict[str, str]:
        """What other tools read in a file's metadata of the sizes that it takes."""
        return {}

    @abstractmethod
    def rule(self, fields: Mapping[str, Any]) -> Any:
        """The section `preprocess`, typed; it has `to_dict()`. Raises InputError for a fault."""

    def contradictions(
        self, fields: Mapping[str, Any], spec: Mapping[str, Any], axes: Mapping[str, Any]
    ) -> Iterator[str]:
        """What a manifest's `preprocess` says against the `shape` of its input `spec`, one phrase for each fault.

        `spec`: that of the first of `inputs`; `axes`: {name: {min, opt, max}}. All fit their schema.
        """
        return iter(())

    def least_shape(self, fields: Mapping[str, Any], shape: Sequence[int]) -> Sequence[int]:
        """The smallest tensor of the first of `inputs`, where `shape` is the smallest that its axes allow."""
        return shape

    @abstractmethod
    def read(self, path: str | Path) -> Any:
        """One input from a file, checked. Raises InputError."""

    def file_content(self, value: Any) -> bytes:
        """The content of a file that `read` gives this value for. Raises InputError where there is none."""
        raise InputError(f"a {self.noun} of a recording cannot be written as a file; name a file")

    def decode(self, content: bytes, label: str) -> Any:
        """One input from the content of a file that messages call `label`, as `read` gives it. Raises InputError."""
        from tempfile import NamedTemporaryFile  # a model that is given arrays loads without it

        with NamedTemporaryFile(prefix="zooport-") as file:
            file.write(content)
            file.flush()
            try:
                return self.read(file.name)
            except InputError as error:
                raise InputError(str(error).replace(file.name, label)) from error

    def recording(self, path: Path) -> Recording | None:
        """A file that holds several inputs, such as a video; None for a file of one."""
        return None

    def live(self, source: str) -> Recording | None:
        """What has no end of its own, such as a camera by its number or a stream by its address; else None."""
        return None

    def size(self, value: Any) -> tuple[int, int] | None:
        """(height, width) of an input in pixels; None where it has none."""
        return None

    def stored_fault(self, size: tuple[int, ...]) -> str | None:
        """Why no model takes an input whose file has this `size`, of an entry of a data set; None where one may."""
        return None

    @abstractmethod
    def check(self, value: object, what: str) -> None:
        """Raise InputError unless `value` is one input of this kind. `what` names it in the message."""

    def check_for(self, rule: Any, value: object, what: str) -> None:
        """As `check`, and against what the `rule` of a model says of its inputs. Called for each input of a call."""
        self.check(value, what)

    @abstractmethod
    def alike(self, rule: Any, value: Any, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Sizes that the inputs of one batch share, of a graph that takes the inputs `names`: first the tensor's."""

    @abstractmethod
    def slot_shape(self, rule: Any, values: Sequence[Any]) -> tuple[int, ...]:
        """The shape of one slot of the tensor for `values`, which share a batch."""

    @abstractmethod
    def fill(self, rule: Any, value: Any, slot: NDArray[np.float32]) -> Any:
        """Write one input into its slot, every element of it, and give its geometry."""

    def geometry(self, rule: Any, value: Any) -> Any:
        """Where the input lies in its slot, as `fill` gives it; None if the kind does not have this."""
        return None

    def geometry_numbers(self, geometry: Any) -> NDArray[np.int64]:
        """A geometry as integers [n], for another process. Raises InputError if the kind does not have this."""
        raise InputError(f"the place of a {self.noun} in its tensor cannot be sent to another process")

    def geometry_of(self, numbers: NDArray[np.int64]) -> Any:
        """The inverse of `geometry_numbers`."""
        raise NotImplementedError

    def companions(self, geometries: Sequence[Any]) -> Mapping[str, Array]:
        """The other `inputs` by name, one row for each geometry. Those that the graph lacks are left out."""
        return {}

    def check_arrays(self, arrays: Mapping[str, Array]) -> None:  # noqa: B027 - most inputs contradict nothing
        """Raise InputError for values of the graph's inputs that contradict one another; shapes and dtypes are right.

        `arrays`: by name, of whatever inputs the graph has.
        """

    def unpacked(self, packed: Mapping[str, Array]) -> dict[str, Array]:
        """Inputs of the graph by name, of what a self-test keeps of one input (see InputProof.packed)."""
        return {}

    def words(self, rule: Any) -> str:
        """What inputs are brought to, for the name of a row in an evaluation."""
        return ", ".join(f"{name} {value}" for name, value in rule.to_dict().items())

    def feed_example(self, names: Sequence[str]) -> str:
        """Python text: the graph's inputs `names` of `array, geometries = model.preprocess(...)`."""
        return f'{{"{self.inputs[0].name}": array}}'
