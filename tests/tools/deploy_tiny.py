"""tools/deploy.py in a process of its own, knowing the tiny model. Run by the tests of signals and of bytes."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

if __name__ == "__main__":
    import deploy

    from tests.tools.tiny import TinySegmentor
    from zoo.registry import MODELS

    MODELS.register_module(name="TinySegmentor", module=TinySegmentor, force=True)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.exit(deploy.main(sys.argv[1:]))
