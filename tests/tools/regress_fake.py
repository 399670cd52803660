"""`zooport regression` in a process of its own, with a fake of zooport for its cells. Run by the tests of signals."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)

if __name__ == "__main__":
    from pipeline.regression import fingerprint
    from tests.pipeline.regression.world import FAKE
    from zooport.commands import regression
    from zooport.verbs import run_verb

    fingerprint.PACKAGES = ()  # as in tests/pipeline/regression/world.py
    regression.ZOOPORT = FAKE
    sys.exit(run_verb(["regression", *sys.argv[1:]]))
