"""The logits in what a segmentor gives."""

from collections.abc import Mapping

from torch import Tensor

from zoo.errors import InputError

OUT = "out"  # torchvision's name of the logits; "aux" beside it is for training


def model_logits(output: Tensor | Mapping[str, Tensor]) -> Tensor:
    """The logits [N, C, H, W] in what a segmentor gives: themselves, or torchvision's {"out": ...}. InputError."""
    if isinstance(output, Tensor):
        return output
    if not isinstance(output, Mapping) or OUT not in output:
        got = f"a mapping with {', '.join(map(str, output))}" if isinstance(output, Mapping) else type(output).__name__
        raise InputError(f'semantic-segmentation: the model gives {got}, expected logits or {{"{OUT}": logits}}')
    return output[OUT]
