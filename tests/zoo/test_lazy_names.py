"""Names of a package that load when they are used."""

import subprocess
import sys
from importlib import import_module

PACKAGES = ("zoo", "backends", "pipeline")
CODE = """
import sys
from importlib import import_module
packages = [import_module(name) for name in sys.argv[1:]]
for package in packages:
    assert dir(package) == sorted(set(package.__all__)), dir(package)
loaded = [name for name in sys.modules if name in ("numpy", "torch", "onnx")]
assert not loaded, loaded
"""


def test_a_package_loads_nothing_heavy_and_lists_its_names() -> None:
    subprocess.run([sys.executable, "-c", CODE, *PACKAGES], check=True)


def test_each_name_is_there() -> None:
    for package in map(import_module, PACKAGES):
        for name in package.__all__:
            assert getattr(package, name).__name__ == name
