"""The exact shapes of a graph's outputs: the contract's axis letters as the target's axes, the rest as measured."""

from collections.abc import Sequence

from pipeline.parity.graph_parity import GraphReference
from zoo.target import Target
from zoo.tensor_spec import TensorSpec

LETTERS = {"N": "batch", "H": "height", "W": "width"}


def output_specs(
    contract: Sequence[TensorSpec], target: Target, references: Sequence[GraphReference]
) -> tuple[TensorSpec, ...]:
    """Specs with the names of the target's axes for dynamic ones and sizes for fixed ones.

    Sizes that the contract leaves to the model (K, P, all of level "raw") are those of PyTorch's outputs; one that
    differs between the references is dynamic and named after its tensor.
    """
    return tuple(_spec(spec, target, references) for spec in contract)


def _spec(spec: TensorSpec, target: Target, references: Sequence[GraphReference]) -> TensorSpec:
    outputs = [reference.outputs[spec.name] for reference in references]
    sides = spec.shape or ("N", *outputs[0].shape[1:])
    shape: list[int | str] = []
    for index, side in enumerate(sides):
        seen = {output.shape[index] for output in outputs}
        axis = LETTERS.get(side, side) if isinstance(side, str) else ""
        if axis in target.axes:
            bounds = target.axes[axis]
            shape.append(axis if bounds.dynamic else bounds.opt)
        else:
            shape.append(seen.pop() if len(seen) == 1 else f"{spec.name}_{index}")
    return TensorSpec(spec.name, outputs[0].dtype.name, tuple(shape))
