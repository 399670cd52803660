"""`from zooport import load` is production's: numpy, opencv and onnxruntime are all that it needs."""

import sys
from pathlib import Path

from tests.backends.conftest import Recipe, write_deployment
from tests.backends.test_light_imports import BLOCK, RUN, run

FRONT_DOOR = RUN.replace("from backends import available, load\navailable()", "from zooport import load")


def test_load_needs_the_core_alone(tmp_path: Path) -> None:
    assert "from zooport import load" in FRONT_DOOR
    folder = write_deployment(tmp_path / "deployed", Recipe())
    done = run(sys.executable, BLOCK + FRONT_DOOR, tmp_path, [folder])
    assert (done.returncode, done.stdout, done.stderr) == (0, "DetectionResult\n", "")
