"""timm's complete classifiers, by the names of its own registry."""

from typing import Any

from torch import nn

from zoo.errors import InputError, nearest
from zoo.models.timm_files import NAMES_FILES, REASON
from zoo.optional_library import needs_library, optional_library
from zoo.registry import MODELS

LIBRARY = "timm"
NOT_TAKEN = {
    **dict.fromkeys(NAMES_FILES, f"{REASON}; leave it out"),
    "features_only": "a classifier gives logits; leave it out",
    "in_chans": "images have 3 channels; leave it out",
}


@needs_library(LIBRARY, "timm")
def build_timm_classifier(architecture: str, num_classes: int, size_divisor: int = 1, **options: Any) -> nn.Module:
    """`architecture`: as in ``timm.list_models()``, for example "resnet18" or "vit_tiny_patch16_224.augreg_in21k".

    timm's own class, with its names of tensors: normalised images float32 [N, 3, H, W], RGB -> logits [N, C]. The
    config's `preprocess` gives the mean and std that it was trained with. Random weights: nothing is downloaded.
    `options` are keyword arguments of ``timm.create_model``: ``img_size=(96, 128)`` builds a transformer for that size,
    and many take any size with ``dynamic_img_size=True``. `size_divisor`: what divides every height and width that the
    model takes, where it does not take all; timm does not say.

    Raises InputError for an unknown name or option, BackendUnavailableError where timm is not installed.
    """
    for name, reason in NOT_TAKEN.items():
        if name in options:
            raise InputError(f"TimmClassifier: {name}: {reason}")
    timm = optional_library(LIBRARY, "timm", "a TimmClassifier")
    if ":" in architecture or not timm.is_model(architecture):
        raise InputError(f'unknown timm architecture "{architecture}"; {nearest(architecture, timm.list_models())}')
    try:
        model: Any = timm.create_model(architecture, pretrained=False, num_classes=num_classes, **options)
    except Exception as error:  # its models raise whatever they like
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"timm cannot build {architecture} with {options}: {reason}") from error
    model.size_divisor = size_divisor
    return model  # type: ignore[no-any-return]


MODELS.register_module(name="TimmClassifier", module=build_timm_classifier)
