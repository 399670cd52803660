"""The configs of the zoo, by their files. Light: the standard library alone."""

from pathlib import Path


def list_models(folder: str | Path = "configs") -> list[str]:
    """The paths of all deployable configs under a folder, sorted; bases (`_base_` folders) are left out."""
    return sorted(str(path) for path in Path(folder).rglob("*.py") if "_base_" not in path.parts)
