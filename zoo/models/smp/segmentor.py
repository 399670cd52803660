"""Complete segmentors of segmentation_models_pytorch, by the names of its own registry."""

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from zoo.errors import InputError, nearest
from zoo.models.timm_files import NAMES_FILES, REASON
from zoo.optional_library import needs_library, optional_library
from zoo.registry import MODELS

LIBRARY = "segmentation_models_pytorch"
TIMM = "tu-"  # how the library begins the names of timm's encoders, which take options of their own
NOT_TAKEN = {
    "encoder_weights": "nothing is downloaded, the config's checkpoint has all weights; leave it out",
    "activation": "a label map is of the largest logit, which no activation changes; leave it out",
    "in_channels": "images have 3 channels; leave it out",
    "encoder_name": "give encoder",
    "classes": "give num_classes",
    **dict.fromkeys(NAMES_FILES, f"{REASON}; leave it out"),
}


@needs_library(LIBRARY, "smp")
def build_smp_segmentor(architecture: str, encoder: str, num_classes: int, **options: Any) -> nn.Module:
    """`architecture`: a class of the library, such as "Unet"; `encoder`: as in its `encoder_name`, such as "resnet18",
    or "zoo-resnet18", the narrow ResNet-18 of the models that are trained on digits.

    The library's own class, with its names of tensors: images float32 [N, 3, H, W], of any normalisation -> logits [N,
    C, H, W]. Of `num_classes` 1 the only channel is the logit of the foreground, and the background has the logit 0
    beside it: C is 2. With `aux_params` the class of the whole image is left out of what it gives. Random weights:
    nothing is downloaded. `options` are further keyword arguments of that class, and of a timm encoder ("tu-...").

    The attribute `size_divisor` says what divides the sides of its images. Raises InputError for an unknown name or
    option, BackendUnavailableError where the library is not installed.
    """
    for name, reason in NOT_TAKEN.items():
        if name in options:
            raise InputError(f"SmpSegmentor: {name}: {reason}")
    library = optional_library(LIBRARY, "smp", "a SmpSegmentor")
    for module in ("family", "zoo_encoder"):  # which need the library
        import_module(f"zoo.models.smp.{module}")
    kinds = {kind.__name__: kind for kind in library.MODEL_ARCHITECTURES_MAPPING.values()}
    if architecture not in kinds:
        raise InputError(f'unknown architecture "{architecture}" of {LIBRARY}; {nearest(architecture, kinds)}')
    if not encoder.startswith(TIMM) and encoder not in library.encoders.encoders:
        known = nearest(encoder, library.encoders.encoders)
        raise InputError(f'unknown encoder "{encoder}" of {LIBRARY}; {known}, or timm\'s: "{TIMM}<name>"')
    kind = kinds[architecture]
    _check_options(kind, options, of_timm=encoder.startswith(TIMM))
    try:
        model: Any = kind(encoder_name=encoder, encoder_weights=None, classes=num_classes, **options)
    except (RuntimeError, TypeError, ValueError, KeyError) as error:  # timm's unknown names are RuntimeErrors
        reason = " ".join(str(error).split())
        raise InputError(f"{LIBRARY} cannot build {architecture} on {encoder}: {reason}") from error
    model.size_divisor = int(model.encoder.output_stride) if model.requires_divisible_input_shape else 1
    model.register_forward_hook(_logits)
    return model  # type: ignore[no-any-return]


def _check_options(kind: type[Any], options: Mapping[str, Any], *, of_timm: bool) -> None:
    """Raises InputError for those that it does not take: the library swallows unknown ones."""
    taken = [
        name
        for name, parameter in inspect.signature(kind.__init__).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD and name not in ("self", *NOT_TAKEN)
    ]
    for name in options:
        if name not in taken and not of_timm:
            raise InputError(f'SmpSegmentor: {kind.__name__} has no option "{name}"; {nearest(name, taken)}')


def _logits(_model: nn.Module, _inputs: Any, output: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    """Of every class: without the class of the whole image, and with the background beside a single foreground."""
    logits = output[0] if isinstance(output, tuple) else output
    return torch.cat((torch.zeros_like(logits), logits), dim=1) if logits.shape[1] == 1 else logits


MODELS.register_module(name="SmpSegmentor", module=build_smp_segmentor)
