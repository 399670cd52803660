"""The wheel's configs, which pyproject.toml cannot move: configs/ of the repository is zoo/configs when installed."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithConfigs(build_py):
    """Copies the configs; an editable installation finds them in the checkout (zoo/shipped.py)."""

    def run(self) -> None:
        """As setuptools does it, then the configs."""
        super().run()
        if self.editable_mode:
            return
        for file in (*Path("configs").rglob("*.py"), *Path("configs").rglob("*.yaml")):
            place = Path(self.build_lib, "zoo", file)
            self.mkpath(str(place.parent))
            self.copy_file(str(file), str(place))


setup(cmdclass={"build_py": BuildWithConfigs})
