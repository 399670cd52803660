"""`zooport deploy` in a process of its own, knowing the tiny model. Run by the tests of signals and of bytes."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)

if __name__ == "__main__":
    from tests.tools.tiny import TinySegmentor
    from zoo.registry import MODELS
    from zooport.verbs import run_verb

    MODELS.register_module(name="TinySegmentor", module=TinySegmentor, force=True)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.exit(run_verb(["deploy", *sys.argv[1:]]))
