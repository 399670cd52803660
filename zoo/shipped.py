"""Where what zooport ships is: configs in every installation; weights and data in a checkout. Standard library only."""

import os
from pathlib import Path

HOME = "ZOOPORT_HOME"
"""The environment variable that names a checkout, for an installation, which has neither weights nor data."""
PACKAGES = Path(__file__).resolve().parents[1]  # the folder of the packages: a checkout, or an installation
INSTALLED_CONFIGS = PACKAGES / "zoo" / "configs"  # setup.py puts them there
CONFIGS = INSTALLED_CONFIGS if INSTALLED_CONFIGS.is_dir() else PACKAGES / "configs"
"""The folder of the shipped configs."""
SHIPPED = Path("configs")
"""The same in the repository: `configs/detection/fcos_r18-fpn_digits.py` is found from every folder."""


def shipped_path(path: str | Path) -> Path:
    """A path of the repository, `zoo/data/digits`: here, or in the checkout of ZOOPORT_HOME. It may be missing."""
    here, home = PACKAGES / path, os.environ.get(HOME)
    return here if home is None or here.exists() else Path(home).absolute() / path


def shipped_file(path: str | Path) -> Path | None:
    """The shipped file of a path that begins with `configs/`; None where there is none."""
    relative = Path(path)
    if relative.parts[:1] != SHIPPED.parts:
        return None
    file = CONFIGS / relative.relative_to(SHIPPED)
    return file if file.is_file() else None


def in_repository(folder: Path, path: str | Path) -> Path | None:
    """A path that starts in a folder of the shipped configs, as one of the repository; None for any other folder."""
    try:
        below = folder.resolve().relative_to(CONFIGS)
    except ValueError:
        return None
    normal = Path(os.path.normpath(Path(SHIPPED, below, path)))
    return None if normal.parts[:1] == ("..",) or normal.is_absolute() else normal


def whereabouts(path: Path) -> str:
    """The end of a message about a missing file: where zooport's weights and data are; empty for files of others."""
    roots = [PACKAGES, *([Path(home).absolute()] if (home := os.environ.get(HOME)) else [])]
    shipped = [root / "zoo" / name for root in roots for name in ("weights", "data")]
    if not any(path.is_relative_to(folder) and not folder.is_dir() for folder in shipped):
        return ""
    return f"; zooport's weights and data are only in a checkout: set {HOME} to the folder of one"
