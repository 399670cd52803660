"""What a measurement, or a model's numbers, depend on, as one hash: where it differs, the card is stale."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.config import ModelConfig
from zoo.config.located import is_address
from zoo.errors import InputError
from zoo.generated_data import GENERATED
from zoo.shipped import whereabouts

NOT_MEASURED = ("precision", "engine")
SECTIONS = ("model", "task", "preprocess", "dataset", "evaluator", "export")


def fingerprint(config: ModelConfig) -> str:
    """sha256 over the config's SECTIONS, its bases included, and what checkpoint and data set hold; 64 hex digits.

    The files beside the config that it imports, or that describe its model, count as well, where there are any.

    Of a data set that zooport makes, the file counts that says what the split holds. Other data sets are known by their
    names.

    Raises InputError where the checkpoint is missing, or a section holds what JSON cannot.
    """
    content = {name: config.content[name] for name in SECTIONS if name in config.content}
    if "export" in content:  # options of other precisions and of engines, which a card does not measure
        content["export"] = {key: value for key, value in content["export"].items() if key not in NOT_MEASURED}
    if modules := config.source_hashes():
        content["modules"] = modules
    content["checkpoint"] = checkpoint_sha256(config) or config.checkpoint
    if (truth := _description(config)) is not None:
        content["annotations"] = hashlib.sha256(truth.read_bytes()).hexdigest()
    return _sha256(config, content)


def config_sha256(config: ModelConfig) -> str:
    """Of what decides the model's numbers, beside its weights: the sections `model` and `export.forward`, and
    `export.plugin`, `export.level_options` and `export.graph_rewriters` where the config has them, and the files beside
    it that its model and task are made of, as JSON with sorted keys.

    Raises InputError where they hold what JSON cannot.
    """
    export = config.content.get("export", {})
    sections = {"model": config.model, "forward": config.export.forward}
    sections |= {key: export[key] for key in ("plugin", "level_options", "graph_rewriters") if key in export}
    if modules := config.source_hashes(("model", "task")):
        sections["modules"] = modules
    return _sha256(config, sections)


def _sha256(config: ModelConfig, content: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(content, sort_keys=True)
    except TypeError as error:
        raise InputError(f"config {config.path}: {error}; a config holds only plain data") from error
    return hashlib.sha256(text.encode()).hexdigest()


def checkpoint_sha256(config: ModelConfig) -> str | None:
    """Of the config's checkpoint file, or the one in its address; None where the config gives neither.

    Raises InputError where there is no such file.
    """
    path = checkpoint_file(config)
    if path is None:
        return (config.checkpoint or "").partition("#sha256=")[2] or None
    if not path.is_file():
        hint = whereabouts(path) or "; give the path of one"
        raise InputError(f"config {config.path}: checkpoint {path}: no such file{hint}")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checkpoint_file(config: ModelConfig) -> Path | None:
    """The config's checkpoint, which may be missing; None where it gives none, or an address."""
    source = config.checkpoint
    return None if source is None or is_address(source) else config.locate(source, "checkpoint")


def _description(config: ModelConfig) -> Path | None:
    """The file that says what a generated split holds; None for other data sets, and where it is not there."""
    dataset = config.dataset or {}
    generated = GENERATED.get(str(dataset.get("type")))
    if generated is None or generated.description is None:
        return None
    root = config.locate(str(dataset["root"]), "dataset", "root") if dataset.get("root") else generated.root
    path = root / str(dataset.get("split", generated.shipped)) / generated.description
    return path if path.is_file() else None
