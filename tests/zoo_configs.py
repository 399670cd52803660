"""The configs of the repository, each read once for all tests of a process."""

from pathlib import Path

from zoo.config import load_config
from zoo.config.located import is_address
from zoo.listing import list_models

ROOT = Path(__file__).parents[1]
CONFIGS = {path: load_config(path) for path in list_models(ROOT / "configs")}
SHIPPED = [path for path, config in CONFIGS.items() if not is_address(config.checkpoint)]
"""Those whose weights lie in zoo/weights."""
