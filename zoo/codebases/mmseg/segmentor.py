"""mmseg's EncoderDecoder and CascadeEncoderDecoder as zooport's own."""

from collections.abc import Mapping
from typing import Any

from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.mmseg.part import UnknownPartError, translated
from zoo.codebases.values import SECTION, SECTIONS, SIDES, read
from zoo.errors import InputError

SEGMENTOR, CASCADE = "EncoderDecoder", "CascadeEncoderDecoder"
TRAINING = ("train_cfg", "pretrained", "init_cfg", "auxiliary_head", "data_preprocessor")
"""Auxiliary heads are trained with the others, and inference never runs them. The data preprocessor comes before."""
KNOWN = ("type", "_scope_", "num_stages", "backbone", "neck", "decode_head", "test_cfg", *TRAINING)
SLIDE, WHOLE = "slide", "whole"
WINDOW_KEYS = ("mode", "crop_size", "stride")
NO_NORMALIZATION = {"image_mean": (0.0, 0.0, 0.0), "image_std": (1.0, 1.0, 1.0)}  # that of the config's preprocess


def segmentor_of(config: CodebaseConfig) -> dict[str, Any]:
    """The section `model`. Raises UnknownPartError for what zooport's own does not have, by name."""
    model = config.model
    if (kind := type_name(model.get("type"))) not in (SEGMENTOR, CASCADE):
        raise UnknownPartError(f"model {kind} is none of zooport's own, which are {SEGMENTOR} and {CASCADE}")
    for key in model:
        if key not in KNOWN:
            raise UnknownPartError(f'model {kind}: key "{key}" is not known to zooport\'s own')
    where = f"{config.path}: model"
    for key in read(model, "test_cfg", SECTION, where, {}):
        if key not in WINDOW_KEYS:
            raise UnknownPartError(f'model {kind}: test_cfg: key "{key}" is not known to zooport\'s own')
    neck = read(model, "neck", SECTION, where, None)
    return {
        "type": SEGMENTOR,
        "backbone": translated("backbone", read(model, "backbone", SECTION, where)),
        **({} if neck is None else {"neck": translated("neck", neck)}),
        "decode_head": _heads(read(model, "decode_head", SECTIONS, where)),
        "test_cfg": windows_of(model, where),
        **NO_NORMALIZATION,
    }


def _heads(heads: Any) -> dict[str, Any] | tuple[dict[str, Any], ...]:
    """One head, or those of a cascade."""
    if isinstance(heads, Mapping):
        return translated("decode_head", heads)
    first, *others = heads
    return translated("decode_head", first), *(translated("cascade_head", head) for head in others)


def windows_of(model: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Whole or slide inference, by `test_cfg`. Raises InputError for another mode, and for windows without sizes."""
    test = read(model, "test_cfg", SECTION, where, {})
    where = f"{where}.test_cfg"
    mode = test.get("mode", WHOLE)
    if mode not in (SLIDE, WHOLE):
        raise InputError(f"{where}: mode is {mode!r}, expected {SLIDE!r} or {WHOLE!r}")
    if mode == WHOLE:
        return {"mode": WHOLE}
    return {"mode": SLIDE, **{key: tuple(read(test, key, SIDES, where)) for key in ("crop_size", "stride")}}
