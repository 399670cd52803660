"""tools/regression.py in a process of its own, with the tools of a folder. Run by the tests of signals."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

if __name__ == "__main__":
    import regression

    from pipeline.regression import fingerprint

    fingerprint.PACKAGES = ()  # as in tests/pipeline/regression/world.py
    regression.TOOLS = Path(sys.argv.pop(1))
    sys.exit(regression.main(sys.argv[1:]))
