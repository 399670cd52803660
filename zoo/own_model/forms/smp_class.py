"""`smp:NAME`, or the folder that its save_pretrained wrote: a segmentor of segmentation_models_pytorch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from zoo.errors import InputError
from zoo.own_model.classes import BACKGROUND, UNNAMED, check_count, class_entries
from zoo.own_model.folder import CONFIG, check_fields, folder_config, folder_weights, foreign_arguments
from zoo.own_model.form import Description, LibraryForm, register_form
from zoo.own_model.request import ModelRequest

ARCHITECTURE = "_model_class"  # the key of config.json that only this library writes
FIELDS = {ARCHITECTURE: str, "encoder_name": str, "classes": int, "in_channels": int}
RENAMED = {"encoder_name": "encoder", "classes": "num_classes"}
FORMER = {
    "decoder_use_batchnorm": "decoder_use_norm",
    "psp_use_batchnorm": "decoder_use_norm",
    "upscale_mode": "decoder_interpolation",
}
"""What versions of the library before 0.5 called its keywords."""
LEFT_OUT = (ARCHITECTURE, "encoder_weights", "activation")  # nothing of them is in the graph
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet
NORMALIZED = (
    "Mean and std are ImageNet's, with which most encoders were pretrained: write those of your training, or leave out "
    "both if it had none. Sizes are multiples of 32 for most architectures."
)


@register_form
class SmpForm(LibraryForm):
    """The folder says what the encoder is; a checkpoint by itself does not."""

    prefix: ClassVar[str] = "smp"
    example: ClassVar[str] = "smp:NAME"
    folder_key: ClassVar[str | None] = ARCHITECTURE
    flags: ClassVar[frozenset[str]] = frozenset({"weights", "classes", "size", "arguments"})

    def describe(self, request: ModelRequest, out: Path) -> Description:  # noqa: ARG002
        """The size of the images is in neither, so the request has it."""
        saved = folder_config(request.source)
        section: dict[str, Any] = {"type": "SmpSegmentor"}
        if saved is None:
            weights = request.weights_file
            section |= {"architecture": self.name(request.source), **_renamed(request.arguments)}
        else:
            check_fields(saved, FIELDS, f"{request.source}/{CONFIG}")
            weights = folder_weights(request)
            section |= {"architecture": saved[ARCHITECTURE], **_saved_arguments(saved), **_renamed(request.arguments)}
        if "encoder" not in section:
            raise InputError(
                f"{request.source}: no encoder; give --arg encoder=NAME, the encoder_name of your training"
            )
        size = request.tensor_size
        if "num_classes" not in section:
            from zoo.checkpoint import read_state
            from zoo.own_model.fitting import fitting_value

            section["num_classes"] = fitting_value(section, "num_classes", read_state(weights), weights)
        task = {
            "type": "SemanticSegmentation",
            "classes": _classes(request.classes, section["num_classes"], weights),
        }
        preprocess = {"size": size, "resize": "stretch", "interpolation": "bilinear", "mean": MEAN, "std": STD}
        notes = {} if request.classes else {"task": UNNAMED}
        what = f"{section['architecture']} of segmentation_models_pytorch with the weights of {weights.name}."
        content = {"model": section, "task": task, "preprocess": preprocess}
        return Description(what, content, weights, notes | {"preprocess": NORMALIZED})


def _renamed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """By the names of the config."""
    return {RENAMED.get(name, name): value for name, value in arguments.items()}


def _saved_arguments(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Those of config.json that decide the graph. Raises InputError for images that are not RGB."""
    if (channels := saved.get("in_channels", 3)) != 3:  # noqa: PLR2004 - red, green, blue
        raise InputError(f'{CONFIG}: "in_channels" is {channels}, expected 3: deployments take RGB images')
    kept = {
        name: value for name, value in saved.items() if name not in (*LEFT_OUT, "in_channels") and value is not None
    }
    kept = {FORMER.get(name, name): value for name, value in kept.items()}
    return foreign_arguments(_renamed(kept), CONFIG)


def _classes(names: Sequence[str], count: int, weights: Path) -> list[dict[str, Any]]:
    """One class is a foreground, and the background is beside it."""
    check_count(count)
    if count > 1:
        return class_entries(names, count, str(weights))
    chosen = [BACKGROUND, *names] if len(names) < 2 else names  # noqa: PLR2004 - with the background
    return class_entries(chosen if names else [], 2, str(weights))
