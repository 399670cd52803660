"""Names of a package that load when they are used."""

import subprocess
import sys

PACKAGES = ("zoo", "backends", "pipeline")
CODE = """
import sys
import {package} as package
public = set(package.__all__)
assert dir(package) == sorted(public), dir(package)
loaded = [name for name in sys.modules if name in ("numpy", "torch", "onnx")]
assert not loaded, loaded
for name in public:
    assert getattr(package, name).__name__ == name
"""


def test_a_package_loads_nothing_heavy_and_lists_its_names() -> None:
    for package in PACKAGES:
        subprocess.run([sys.executable, "-c", CODE.format(package=package)], check=True)
