"""Prints a pip constraints file that pins each dependency of pyproject.toml to the lower end of its range.

Usage: python tests/lower_bounds.py pyproject.toml > constraints.txt
"""

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

UNPINNED = {"tensorrt", "tensorrt-rtx", "zooport"}


def lower_bounds(pyproject: str) -> list[str]:
    """One "name==version.*" for each requirement "name>=version"."""
    project = tomllib.loads(pyproject)["project"]
    requirements = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    found = [re.match(r"([A-Za-z0-9_.-]+)(?:\[[\w,]+\])?(?:>=([0-9.]+))?", requirement) for requirement in requirements]
    return sorted({f"{m[1]}=={m[2]}.*" for m in found if m is not None and m[2] and m[1] not in UNPINNED})


if __name__ == "__main__":
    print("\n".join(lower_bounds(Path(sys.argv[1]).read_text(encoding="utf-8"))))
