"""The configs of the repository, each read once for all tests of a process."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

from zoo.build import library_missing
from zoo.config import load_config
from zoo.config.located import is_address
from zoo.listing import list_models
from zoo.optional_library import needed_library
from zoo.registry import MODELS

ROOT = Path(__file__).parents[1]
CONFIGS = {path: load_config(path) for path in list_models(ROOT / "configs")}
BY_NAME = {Path(path).stem: config for path, config in CONFIGS.items()}
SHIPPED = [path for path, config in CONFIGS.items() if not is_address(config.checkpoint)]
"""Those whose weights lie in zoo/weights."""


def library_marks(config: str | Path) -> list[pytest.MarkDecorator]:
    """The marks of a test that builds the model of a config, a path or a name: none but where it needs a library."""
    loaded = BY_NAME[Path(config).stem]
    if needed_library(MODELS.get(loaded.model["type"])) is None:
        return []
    missing = library_missing(loaded)
    return [pytest.mark.libraries, pytest.mark.skipif(missing is not None, reason=str(missing))]


def buildable(configs: Iterable[str | Path], every_commit: Collection[str | Path] | None = None) -> list[Any]:
    """Configs as parameters of a test that builds their models, named by their stems.

    With `every_commit` the others are slow.
    """
    return [
        pytest.param(
            config,
            marks=[
                *library_marks(config),
                *[pytest.mark.slow] * (every_commit is not None and config not in every_commit),
            ],
            id=Path(config).stem,
        )
        for config in configs
    ]
