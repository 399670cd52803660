"""tools/evaluate.py in a process of its own, knowing the tiny model. Run by the tests of signals and of torchrun."""

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

if __name__ == "__main__":
    import evaluate

    from pipeline.evaluation.result_store import ResultStore
    from tests.tools.tiny import TinySegmentor
    from zoo.registry import MODELS

    MODELS.register_module(name="TinySegmentor", module=TinySegmentor, force=True)
    if pause := float(os.environ.get("PAUSE_AFTER_EACH_IMAGE", "0")):
        put = ResultStore.put

        def slow_put(self, *row):
            put(self, *row)
            sys.stdout.write("image\n")
            sys.stdout.flush()
            time.sleep(pause)

        ResultStore.put = slow_put
    sys.exit(evaluate.main(sys.argv[1:]))
