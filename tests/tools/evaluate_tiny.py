"""`zooport evaluate` in a process of its own, knowing the tiny model. Run by the tests of signals and of torchrun."""

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)

if __name__ == "__main__":
    from pipeline.evaluation.result_store import ResultStore
    from tests.tools.tiny import TinySegmentor
    from zoo.registry import MODELS
    from zooport.verbs import run_verb

    MODELS.register_module(name="TinySegmentor", module=TinySegmentor, force=True)
    if pause := float(os.environ.get("PAUSE_AFTER_EACH_IMAGE", "0")):
        put = ResultStore.put

        def slow_put(self, *row):
            put(self, *row)
            sys.stdout.write("image\n")
            sys.stdout.flush()
            time.sleep(pause)

        ResultStore.put = slow_put
    sys.exit(run_verb(["evaluate", *sys.argv[1:]]))
