"""The base of what proves that inputs of a kind are prepared rightly. Loaded where something is proved: needs torch."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from zoo.input_kinds.input_kind import Array, InputKind


class Placed(Protocol):
    """One input as the unpatched model gets it, by a path that shares no code with `InputKind.fill`."""

    @property
    def tensor(self) -> Tensor:
        """The first of the kind's `inputs`, a batch of one."""

    def valid(self, tensor: Tensor, *, image_sizes: bool) -> Tensor:
        """The part of a tensor of one input, shaped as `tensor[0]`, as the model is given it.

        What the graph does with its input before the model (see InputProof.graph_step) is done here in another way.
        `image_sizes`: whether the target has them; the padding around an image is then left out.
        """


def input_proof(kind: InputKind) -> "InputProof":
    """The verbs that prove deployments whose models take this kind, by its `proof_class`."""
    module, _, name = kind.proof_class.partition(":")
    proof: InputProof = getattr(import_module(module), name)(kind)
    return proof


class InputProof(ABC):
    """The verbs of a kind that need torch, or that a proof alone asks for. ``kind``: the one that is proved.

    ``rule``: of the kind, a config's for the sizes of the target.
    """

    unit: ClassVar[str] = ""
    """Of the differences between two tensors of an input, one prepared by the deployment and one by the reference."""
    scale: ClassVar[float] = 1.0
    """What a value of the tensor is multiplied by, to be in `unit`."""

    def __init__(self, kind: InputKind) -> None:
        self.kind = kind

    @abstractmethod
    def reference_input(self, value: Any, rule: Any) -> Placed:
        """One input, prepared by float32 PyTorch."""

    @abstractmethod
    def graph_arrays(
        self, values: Sequence[Any], sizes: Mapping[str, int], rule: Any, *, image_sizes: bool
    ) -> dict[str, Array]:
        """The graph's inputs by name, of the kind's `specs`: one batch of these values, whose sides have these sizes.

        `sizes`: axis -> size, of all sides. They take the place of what `rule` says of sizes; the rest of it holds.
        """

    def graph_step(self, rule: Any) -> nn.Module | None:
        """What the graph does with the first of the kind's `inputs` before the model; None: nothing."""
        return None

    def step_constants(self, rule: Any) -> Mapping[str, tuple[Array, str]]:
        """The constants of `graph_step` by name: the value, and the ONNX operator that reads it in a graph."""
        return {}

    def other_ends(self, arrays: Mapping[str, Array], numbers: Sequence[int]) -> dict[str, Array]:
        """The same tensors, whose inputs end elsewhere in them: what lies beyond must not matter.

        Called where the graph takes the ends of its inputs, as other inputs than the first. `numbers`: one for each
        input of the batch; equal numbers end alike.
        """
        return dict(arrays)

    def other_contents(self, arrays: Mapping[str, Array]) -> Iterator[tuple[str, dict[str, Array]]]:
        """The same tensors with other contents, and words for each: what a model's code may decide by."""
        return iter(())

    def packed(
        self, value: Any, sizes: Mapping[str, int], rule: Any, batch: int, *, image_sizes: bool
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """One input as a self-test keeps it, in every slot of a batch: what `InputKind.unpacked` makes inputs of the
        graph from, in as few bytes as it may be, and the other inputs of the graph as they are.
        """
        return {}, self.graph_arrays([value] * batch, sizes, rule, image_sizes=image_sizes)

    def composed(self, inputs: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """More inputs with their names, made of these, which may use parts of a model that these do not."""
        return iter(())

    def rounded(self, own: NDArray[np.float32], production: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
        """Other roundings of the reference's ``own`` tensor of one input, as the deployment's ``production`` is one.

        As many as are asked for. None where the two may not differ: then nothing is explained by rounding.
        """
        return iter(())
