"""The shape of deployment.json: one JSON Schema, checked here without a dependency and published in docs/.

`MANIFEST_SCHEMA` uses a small part of JSON Schema (draft 2020-12), and `schema_errors` knows just that part. The file
docs/deployment.schema.json is written from it: `python -m zoo.manifest_schema > docs/deployment.schema.json`.
"""

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from zoo.errors import nearest
from zoo.input_kinds import InputKind
from zoo.input_kinds.image import ImageKind
from zoo.target import EXPORTERS, LEVELS
from zoo.windows import BLENDS

SCHEMA_VERSION = 2
MAX_THREADS = 1024  # more CPUs than any machine gives one process; ONNX Runtime takes minutes to start thousands
DIGEST_KEY = "manifest_sha256"
NEW_KEYS = (DIGEST_KEY, "proved_on", "self_test")
"""Top keys that schema version SCHEMA_VERSION has and the one before it had not."""
VERDICTS = ("passed", "failed-allowed", "engine-not-run", None)
FILE_NAME = r"^(?!\.{1,2}(/|$))[^/\\:\u0000-\u001f\u007f]+(/(?!\.{1,2}(/|$))[^/\\:\u0000-\u001f\u007f]+)*$"
LINE = r"^[^\u0000-\u001f\u007f]*$"
DTYPES = (
    "float16",
    "float32",
    "float64",
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
)

Schema = Mapping[str, Any]


def _object(properties: Schema, *, optional: Collection[str] = (), **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(key for key in properties if key not in optional),
        "additionalProperties": False,
        **more,
    }


_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_LINE: Schema = {"type": "string", "pattern": LINE}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
_SIZE: Schema = {"type": "array", "minItems": 2, "maxItems": 2, "items": _COUNT}
_PLACE: Schema = {"type": "array", "minItems": 3, "maxItems": 3, "items": _NUMBER}
_SHA256: Schema = {
    **_object({"sha256": {**_TEXT, "pattern": "^[0-9a-f]{64}$"}}),
    "type": ["object", "null"],
}
_TENSORS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": _object(
        {
            "name": _LINE,
            "dtype": {"enum": list(DTYPES)},
            "shape": {"type": "array", "items": {"type": ["integer", "string"], "minimum": 0}},
        }
    ),
}

THRESHOLDS: Schema = {
    "score": _NUMBER,
    "nms_iou": _NUMBER,
    "slots": _COUNT,
    "class_agnostic": {"type": "boolean"},
    "weighted": {"type": "boolean"},
}

OPTIONAL = (
    "checkpoint",
    "config",
    "defaults",
    "engine",
    "pillars",
    "proved_on",
    "self_test",
    "task_options",
    "windows",
)

MANIFEST_SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "zooport deployment manifest (deployment.json)",
    **_object(
        {
            "schema_version": {"type": "integer", "minimum": 1, "maximum": SCHEMA_VERSION},
            "name": {**_LINE, "description": "the config's name"},
            "task": {**_LINE, "description": "detection, semantic-segmentation ..."},
            "task_options": {
                "description": "what the task was asked for beyond its default, for example image_masks, or "
                "resize=logits; a list names outputs",
                "type": "object",
                "additionalProperties": {"type": ["boolean", "string", "array"], "pattern": LINE, "items": _LINE},
            },
            "classes": {
                "description": "index = the model's own id; background and unused ids have category_id null; empty for "
                "tasks that have none, such as super-resolution",
                "type": "array",
                "items": _object({"name": _LINE, "category_id": {"type": ["integer", "null"]}}),
            },
            "preprocess": ImageKind.preprocess_schema,
            DIGEST_KEY: {
                **_TEXT,
                "pattern": "^[0-9a-f]{64}$",
                "description": "always the last key, since schema version 2: the sha256 of all bytes before the comma "
                "and the line break that come before it",
            },
            "windows": {
                "description": "where the ONNX file is the model of one window (images -> logits of crop_size) and the "
                "backend cuts an image into windows every stride pixels, runs batch of them at once and blends them; "
                "sizes are height, width",
                **_object({"crop_size": _SIZE, "stride": _SIZE, "blend": {"enum": list(BLENDS)}, "batch": _COUNT}),
            },
            "pillars": {
                "description": "where the ONNX file takes voxels, counts and cells, and the backend puts the points "
                "into pillars of side metres: size along y and x, from low to high (x, y, z), slots points of each, "
                "count pillars of a cloud",
                **_object(
                    {
                        "low": _PLACE,
                        "high": _PLACE,
                        "side": _NUMBER,
                        "size": _SIZE,
                        "slots": _COUNT,
                        "count": _object({"min": _COUNT, "opt": _COUNT, "max": _COUNT}),
                    }
                ),
            },
            "inputs": {**_TENSORS, "description": "a string in a shape names a dynamic axis"},
            "defaults": {
                "description": "the values of inputs that may be left out, such as score_threshold or scale",
                "type": "object",
                "additionalProperties": {"type": "number"},
            },
            "outputs": _TENSORS,
            "axes": {
                "description": "the bounds of each dynamic axis of the inputs",
                "type": "object",
                "additionalProperties": _object({"min": _COUNT, "opt": _COUNT, "max": _COUNT}),
            },
            "output_level": {"enum": list(LEVELS)},
            "backend": _LINE,
            "precision": {
                **_object(
                    {
                        "stored": _LINE,
                        "computed": _LINE,
                        "options": {"type": "object", "description": "how the graph was brought to its precision"},
                        "calibrated_on": {**_COUNT, "description": "how many images its ranges were measured on"},
                        "nodes": {
                            **_object({"stored": _COUNTS, "computed": _COUNTS}),
                            "description": "how many nodes of the file, and kernels or layers of the backend, compute "
                            "in which dtype",
                        },
                    },
                    optional=("options", "calibrated_on", "nodes"),
                ),
                "description": "of the file, and what the backend really computes in",
            },
            "engine": {"type": "object", "description": "how the backend built it: its options, if it has any"},
            "provider": {"type": ["string", "null"], "pattern": LINE, "description": "null: the backend's default"},
            "threads": {
                **_COUNT,
                "maximum": MAX_THREADS,
                "type": ["integer", "null"],
                "description": "null: the process's CPU affinity",
            },
            "exporter": {"enum": list(EXPORTERS)},
            "opset": _COUNT,
            "versions": {"type": "object", "additionalProperties": _LINE},
            "rewriters": {
                "description": "those that fired during the export, and how often",
                "type": "array",
                "items": _object({"name": _TEXT, "reason": _TEXT, "hits": _COUNT}),
            },
            "files": {
                "description": "each file that the runtime loads",
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": FILE_NAME},
                "additionalProperties": _object(
                    {"sha256": {**_TEXT, "pattern": "^[0-9a-f]{64}$"}, "bytes": {"type": "integer", "minimum": 0}}
                ),
            },
            "parity": _object({"verdict": {"enum": list(VERDICTS)}}),
            "gates": {"type": "object", "description": "the gates that parity was judged by"},
            "proved_on": {
                **_object(
                    {
                        "processor": {**_TEXT, "description": "its name"},
                        "architecture": _TEXT,
                        "instruction_sets": {
                            "description": "as Linux spells them; null where the system does not say",
                            "type": ["array", "null"],
                            "items": _TEXT,
                        },
                        "versions": {"type": "object", "additionalProperties": _LINE},
                    }
                ),
                "description": "the machine of the proof, and the versions of what ran the deployment there",
            },
            "self_test": {
                **_object(
                    {
                        "image": {**_TEXT, "description": "which image of the proof it was made of"},
                        "gates": {"type": "object", "additionalProperties": _NUMBER},
                        "thresholds": _object(THRESHOLDS, optional=THRESHOLDS),
                    }
                ),
                "description": "how far a machine may be from the outputs in self_test.npz: in fp32 the gates of the "
                "graph comparison, below it the relative distance of scores and values and the part of the pixels; "
                "and the model's own thresholds, at which a rounding decides what is found",
            },
            "checkpoint": {
                **_SHA256,
                "description": "which weights: of all parameters and buffers in the order of their names, a line "
                "`name dtype [shape]`, then the bytes",
            },
            "config": {
                **_SHA256,
                "description": "which architecture and thresholds: of the config's `model` and `export.forward`, and "
                "`export.plugin` and `export.graph_rewriters` where it has them, as JSON with sorted keys",
            },
        },
        optional=(*OPTIONAL, DIGEST_KEY),
    ),
}

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def manifest_schema(kind: InputKind) -> Schema:
    """MANIFEST_SCHEMA, whose `preprocess` is that of an image, with that of this kind of input."""
    return {**MANIFEST_SCHEMA, "properties": {**MANIFEST_SCHEMA["properties"], "preprocess": kind.preprocess_schema}}


def schema_errors(value: object, schema: Schema = MANIFEST_SCHEMA, where: str = "") -> Iterator[str]:
    """What is wrong with `value`, one phrase for each fault, with its place (`classes[3].name`)."""
    place = where or "the manifest"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: got {_shown(value)}, expected one of {', '.join(map(_shown, schema['enum']))}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{place}: got {_shown(value)}, expected {' or '.join(kinds)}"
        return
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{place}: got {value}, expected {schema.get('minimum')} to {schema.get('maximum', 'any')}"
    if isinstance(value, str) and not _matches(schema, value):
        yield f"{place}: got {_shown(value)}, expected a match of {schema['pattern']}"
    if isinstance(value, list):
        yield from _array_errors(value, schema, where)
    if isinstance(value, dict):
        yield from _object_errors(value, schema, where)


def _matches(schema: Schema, text: str) -> bool:
    """Of the whole text: a pattern's "$" does not leave out a line break at its end, as it does in Python's search."""
    return "pattern" not in schema or re.fullmatch(schema["pattern"], text) is not None


def _is(value: object, kind: str) -> bool:
    """Whether a value is of a JSON type; Python's True is an integer, too."""
    return isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")


def _array_errors(value: list[object], schema: Schema, where: str) -> Iterator[str]:
    least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not least <= len(value) <= most:
        yield f"{where}: got {len(value)} items, expected {least} to {schema.get('maxItems', 'any')}"
    for index, item in enumerate(value):
        yield from schema_errors(item, schema.get("items", {}), f"{where}[{index}]")


def _object_errors(value: dict[str, object], schema: Schema, where: str) -> Iterator[str]:
    prefix = f"{where}." if where else ""
    known: Schema = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            yield f'{where or "the manifest"}: no key "{key}"'
    if len(value) < schema.get("minProperties", 0):
        yield f"{where}: got nothing, expected {schema['minProperties']} or more"
    names = schema.get("propertyNames", {})
    others = schema.get("additionalProperties", True)
    for key, item in value.items():
        if not _matches(names, key):
            yield f"{where}: the name {_shown(key)} is not that of a file inside the folder"
        if key in known:
            yield from schema_errors(item, known[key], prefix + key)
        elif others is False:
            yield f'unknown key "{prefix}{key}"; {nearest(key, known)}'
        elif others is not True:
            yield from schema_errors(item, others, prefix + key)


def _shown(value: object) -> str:
    return json.dumps(value, default=repr)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(MANIFEST_SCHEMA, indent=2) + "\n")
