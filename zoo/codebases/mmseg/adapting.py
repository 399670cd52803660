"""A config of mmseg that zooport's own parts do not cover: the library builds the model."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from zoo.codebases.as_deployed import as_deployed
from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.mmseg.part import UnknownPartError
from zoo.codebases.values import COUNT, SECTION, SECTIONS, read
from zoo.errors import InputError

LIBRARY = "mmseg"
SEGMENTORS = ("EncoderDecoder", "CascadeEncoderDecoder")
LEFT_OUT = ("auxiliary_head", "train_cfg", "data_preprocessor")


def adapted(config: CodebaseConfig, unknown: UnknownPartError) -> dict[str, Any]:
    """The section `model`, with the whole of mmseg's in it. Raises InputError for a segmentor of another kind.

    `unknown`: why zooport's own is not taken; it is raised where the library, which is needed then, is not installed.
    """
    model = config.model
    if (kind := type_name(model.get("type"))) not in SEGMENTORS:
        raise InputError(
            f"{config.path}: model {kind} gives no logits of classes; zooport takes {' and '.join(SEGMENTORS)}"
        )
    if find_spec(LIBRARY) is None:
        raise UnknownPartError(f'{unknown}; mmsegmentation itself can build it: pip install "zooport[mmseg]"')
    head = last_head(config)
    if head.get("out_channels") == 1 or head.get("num_classes") == 1:
        raise InputError(
            f"{config.path}: the head has one output channel, which a threshold decides; zooport takes the best class"
        )
    kept = {key: value for key, value in model.items() if key not in LEFT_OUT}
    return {"type": "MmsegSegmentor", "config": as_deployed(kept)}


def last_head(config: CodebaseConfig) -> Mapping[str, Any]:
    """The decode head that decides: the last one of a cascade; of K-Net's the one that makes the kernels.

    Raises InputError where it has no classes.
    """
    where = f"{config.path}: model.decode_head"
    heads = read(config.model, "decode_head", SECTIONS, f"{config.path}: model")
    last = heads if isinstance(heads, Mapping) else heads[-1]
    head: Mapping[str, Any] = read(last, "kernel_generate_head", SECTION, where, last)
    read(head, "num_classes", COUNT, where)
    return head


def class_count(head: Mapping[str, Any]) -> int:
    """Of the head that decides."""
    return int(head["num_classes"])
