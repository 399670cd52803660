"""`torchvision:NAME`: a model by the name of its builder, and the state dict of a training."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from zoo.errors import InputError, nearest
from zoo.own_model.classes import UNNAMED, check_several, class_entries
from zoo.own_model.form import Description, LibraryForm, register_form
from zoo.own_model.request import ModelRequest
from zoo.preprocess.rule_faults import is_int

TASKS = {"maskrcnn": "InstanceSegmentation", "keypointrcnn": "KeypointDetection"}  # of detectors; others: boxes
WITHOUT_BACKGROUND = ("retinanet", "fcos")  # their first class is an object's
COCO_WITHOUT_EPS = (  # builders whose COCO weights are for an eps of 0 in the frozen batch norms
    "fasterrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn",
    "keypointrcnn_resnet50_fpn",
    "retinanet_resnet50_fpn",
)
OF_WEIGHTS = (
    "The resize, mean and std are those of torchvision's weights {weights} of this model. Replace them with those of "
    "your training."
)
TRANSFORMING = ("googlenet", "inception_v3")  # with transform_input they change the mean and std of their input
TRANSFORMS = (
    "The key transform_input, which the checkpoint does not hold, is True if the training started from torchvision's "
    "weights, else False."
)
FROZEN_EPS = 1e-5
COUNTER = "num_batches_tracked"
SEGMENTOR_SIZE = (520, 704)
INSIDE = "The mean and std of ImageNet are inside the model."


@register_form
class TorchvisionForm(LibraryForm):
    """Detectors, segmentors and classifiers. The checkpoint's own tensors say how many classes there are."""

    prefix: ClassVar[str] = "torchvision"
    example: ClassVar[str] = "torchvision:NAME"
    flags: ClassVar[frozenset[str]] = frozenset({"weights", "classes", "size", "arguments"})

    def describe(self, request: ModelRequest, out: Path) -> Description:  # noqa: ARG002
        """The builder's kind decides the task."""
        weights, name = request.weights_file, self.name(request.source)
        from torchvision import models
        from torchvision.models import detection, list_models, segmentation

        from zoo.checkpoint import read_state

        kinds = {detection: _detector, segmentation: _segmentor, models: _classifier}
        for module, describe in kinds.items():
            if name in list_models(module=module):
                return describe(name, request, weights, read_state(weights))
        known = [builder for module in kinds for builder in list_models(module=module)]
        raise InputError(
            f"{request.source}: torchvision has no detector, segmentor or classifier of this name; "
            f"{nearest(name, known)}"
        )


def _detector(name: str, request: ModelRequest, weights: Path, state: Mapping[str, Any]) -> Description:
    from zoo.own_model.fitting import fitting_value, unfilled

    if request.size is not None:
        raise InputError(
            f"--size with {request.source}: its own transform decides the size; give --arg min_size=PIXELS "
            "max_size=PIXELS if the training changed them"
        )
    section: dict[str, Any] = {"type": "TorchvisionDetector", "architecture": name}
    notes = {}
    if not any(key.endswith(COUNTER) for key in state) and _has_counters(section):
        section["frozen_batch_norm"], notes["model"] = _frozen(name)
    section |= request.arguments
    for argument in ("num_classes", *(["num_keypoints"] if name.startswith("keypointrcnn") else [])):
        fixed = {"num_classes": 2} if argument == "num_keypoints" else {}
        if argument not in request.arguments:
            section[argument] = fitting_value({**section, **fixed}, argument, state, weights)
    background = not name.startswith(WITHOUT_BACKGROUND)
    classes = class_entries(request.classes, section["num_classes"], str(weights), background=background)
    if not request.classes:
        notes["task"] = UNNAMED
    preprocess, notes["preprocess"] = _detector_input(unfilled(section).get_submodule("transform"))
    task = next((task for prefix, task in TASKS.items() if name.startswith(prefix)), "Detection")
    content = {"model": section, "task": {"type": task, "classes": classes}, "preprocess": preprocess}
    return Description(_what(name, weights), content, weights, notes)


def _has_counters(section: Mapping[str, Any]) -> bool:
    from zoo.own_model.fitting import unfilled

    return any(key.endswith(COUNTER) for key in unfilled({**section, "num_classes": 2}).state_dict())


def _frozen(name: str) -> tuple[float, str]:
    """The eps of frozen batch norms, which a checkpoint does not hold, and what the reader must know of it."""
    if name not in COCO_WITHOUT_EPS:
        return FROZEN_EPS, "The checkpoint has no counters of batch norms, so they were frozen while it was trained."
    return 0.0, (
        "The key frozen_batch_norm is the eps of the frozen batch norms, which the checkpoint does not hold: 0.0 if "
        'the training started from weights="DEFAULT" (COCO), 1e-5 if it started from weights of the backbone alone.'
    )


def _detector_input(transform: Any) -> tuple[dict[str, Any], str]:
    """The preprocessing with which the resize in the model's own transform is the identity."""
    own = "Mean and std are inside the model."
    if transform.fixed_size is not None:
        width, height = transform.fixed_size
        note = f"The model's own transform stretches every image to this size. {own}"
        return {"size": (height, width), "resize": "stretch", "interpolation": "bilinear"}, note
    size = transform.min_size[-1], transform.max_size
    if not all(is_int(side, 1) for side in size):
        raise InputError(
            f"the model's transform has min_size {size[0]!r} and max_size {size[1]!r}, expected whole pixels; "
            "correct --arg min_size=PIXELS max_size=PIXELS"
        )
    note = (
        "The model's own transform makes these sides of a landscape image (min_size, max_size). Exchange them for "
        f"portrait images. {own}"
    )
    return {"size": size, "resize": "letterbox", "interpolation": "bilinear", "pad_value": 114}, note


def _segmentor(name: str, request: ModelRequest, weights: Path, state: Mapping[str, Any]) -> Description:
    from zoo.own_model.fitting import fitting_value

    section: dict[str, Any] = {"type": "TorchvisionSegmentor", "architecture": name, **request.arguments}
    if "aux_loss" not in section and any("aux_classifier." in key for key in state):
        section["aux_loss"] = True
    if "num_classes" not in section:
        section["num_classes"] = fitting_value(section, "num_classes", state, weights)
    check_several(section["num_classes"], str(weights))
    classes = class_entries(request.classes, section["num_classes"], str(weights))
    size = request.size or SEGMENTOR_SIZE
    notes = {"preprocess": INSIDE}
    if request.size is None:
        notes["preprocess"] = (
            "torchvision's recipe makes the shorter side 520, so an image of 4:3 becomes 520x693. 704 is the next "
            f"multiple of 32. {INSIDE}"
        )
    if not request.classes:
        notes["task"] = UNNAMED
    task = {"type": "SemanticSegmentation", "classes": classes}
    preprocess = {"size": size, "resize": "letterbox", "interpolation": "antialias", "pad_value": 114}
    content = {"model": section, "task": task, "preprocess": preprocess}
    return Description(_what(name, weights), content, weights, notes)


def _classifier(name: str, request: ModelRequest, weights: Path, state: Mapping[str, Any]) -> Description:
    from torchvision.models import get_model_weights

    from zoo.own_model.fitting import fitting_value
    from zoo.own_model.resizing import resized
    from zoo.preprocess_mapping import TORCHVISION_FIELDS, from_torchvision

    section: dict[str, Any] = {"type": "TorchvisionClassifier", "architecture": name, **request.arguments}
    if "num_classes" not in section:
        section["num_classes"] = fitting_value(section, "num_classes", state, weights)
    if name in TRANSFORMING and "aux_logits" not in section:
        section["aux_logits"] = any("aux1." in key or "AuxLogits." in key for key in state)
    notes = {} if request.classes else {"task": UNNAMED}
    if name in TRANSFORMING and "transform_input" not in section:
        section["transform_input"], notes["model"] = True, TRANSFORMS
    default = get_model_weights(name)["DEFAULT"]
    preset = default.transforms()
    fields = {field: getattr(preset, field) for field in TORCHVISION_FIELDS if hasattr(preset, field)}
    preprocess, note = resized(from_torchvision(fields), request.size)
    check_several(section["num_classes"], str(weights))
    classes = class_entries(request.classes, section["num_classes"], str(weights))
    notes["preprocess"] = note or OF_WEIGHTS.format(weights=default.name)
    task = {"type": "ImageClassification", "classes": classes}
    content = {"model": section, "task": task, "preprocess": preprocess}
    return Description(_what(name, weights), content, weights, notes)


def _what(name: str, weights: Path) -> str:
    """The first line of the config."""
    return f"torchvision's {name} with the weights of {weights.name}."
