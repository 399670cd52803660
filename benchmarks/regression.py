"""Every shipped model by each exporter, for each backend, in each precision: configs/regression/everything.yaml.

    python benchmarks/regression.py --jobs 2 --page docs/measured/regression.md

A model at a time, by `zooport regression`, each cell on as many threads as the jobs leave. The script may be
interrupted: models are kept in --state, beside the page, and done once; --anew does them again. The page says which
sources each was measured with. Exit code 3 where a cell is neither passed nor built for another machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from measured import STAMP, keep, made_with, sources, stamps, write_page

from pipeline.regression.fingerprint import PACKAGES
from pipeline.regression.matrix import load_matrix
from pipeline.regression.state import GATE_MISSED, State
from pipeline.regression.yaml_fields import read_yaml
from zoo.target import EXPORTERS

MATRIX = ROOT / "configs/regression/everything.yaml"
LIBRARIES = ("torch", "torchvision", "onnxruntime", "openvino", "tensorrt-rtx")
BUILT = "built"  # and proved, by the fallback, on a machine where its backend cannot run


def main() -> int:
    """Print and write the table; 3 where a cell is not green."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="default: all")
    parser.add_argument("--jobs", type=int, default=1, help="cells at once (default: 1)")
    parser.add_argument("--work-dir", type=Path, default=ROOT / "work_dirs/regression/models")
    parser.add_argument("--state", type=Path, default=ROOT / "docs/measured/regression.json")
    parser.add_argument("--anew", action="store_true", help="also models that are done")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    configs = {cell.model: cell.config for cell in load_matrix(MATRIX).cells}
    if unknown := set(args.models) - set(configs):
        parser.error(f"{', '.join(sorted(unknown))}: not a model of {MATRIX.name}")
    models: dict[str, Any] = json.loads(args.state.read_text(encoding="utf-8")) if args.state.is_file() else {}
    for model in args.models or configs:
        if args.anew or model not in models:
            models[model] = _run(configs[model], args.work_dir / model, args.jobs)
            keep(models, args.state)
            print(f"{model}: {_counts(models[model]['cells'].values())}", flush=True)
    models = {model: models[model] for model in configs if model in models}
    table = _table(models)
    print(table)
    if args.page:
        missing = [model for model in configs if model not in models]
        unmeasured = f"\n\nNot measured yet: {', '.join(missing)}." if missing else ""
        write_page(args.page, "Everything", _intro(models) + unmeasured, "benchmarks/regression.py", table)
    return GATE_MISSED if any(_word(cell) == "**failed**" for cell in _cells(models)) else 0


def _run(config: str, work_dir: Path, jobs: int) -> dict[str, Any]:
    """A model's cells; what they wrote stays where one is not green."""
    work_dir.mkdir(parents=True, exist_ok=True)
    matrix, data = work_dir / "matrix.yaml", work_dir / "cells.json"
    matrix.write_text(json.dumps({**read_yaml(MATRIX), "models": [str(Path(config).resolve())]}), encoding="utf-8")
    flags = ["--work-dir", str(work_dir), "--jobs", str(jobs), "--json", str(data), "--quiet", "--resume"]
    threads = max(1, len(os.sched_getaffinity(0)) // jobs)
    done = subprocess.run(
        [sys.executable, "-m", "zooport", "regression", str(matrix), *flags],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)},  # of its children, too
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, GATE_MISSED):
        sys.exit(f"{config}: {done.stderr.strip()}")
    cells = {
        " ".join((cell["backend"], cell["precision"], cell["exporter"])): _kept(cell)
        for cell in json.loads(data.read_text(encoding="utf-8"))["cells"]
    }
    if all(_word(cell) != "**failed**" for cell in cells.values()):
        shutil.rmtree(work_dir)
    return {STAMP: made_with(sources(*PACKAGES, "configs"), *LIBRARIES), "cells": cells}


def _kept(cell: Mapping[str, Any]) -> dict[str, Any]:
    """What the page needs of a cell."""
    state, measured = cell["state"], cell["measured"] or {}
    built = state == State.UNAVAILABLE and cell["deployment"] is not None
    kept = {"state": BUILT if built else state, "difference": measured.get("difference")}
    return kept if state == State.PASSED or built else {**kept, "reason": cell["reason"]}


def _word(cell: Mapping[str, Any]) -> str:
    if cell["state"] == BUILT:
        return BUILT
    return f"{round(cell['difference'], 3) + 0.0:+.3f}" if cell["state"] == State.PASSED else "**failed**"


def _cells(models: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [cell for model in models.values() for cell in model["cells"].values()]


def _counts(cells: Iterable[Mapping[str, Any]]) -> str:
    counts = Counter(str(cell["state"]) for cell in cells)
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def _intro(models: Mapping[str, Any]) -> str:
    return (
        "Every shipped model by both exporters, for each backend, in each precision: deployed, proved, and evaluated "
        "on the gate split (512 images or clouds; the config's own data set where it has none). A number is the "
        "deployment's difference from PyTorch in the config's main metric (points, or dB of PSNR), within its gate. "
        "An engine that was built here needs a GPU to run; ONNX Runtime ran its graph for the proof. "
        f"{len(_cells(models))} cells: {_counts(_cells(models))}.\n\n" + "\n\n".join(stamps(models))
    )


def _table(models: Mapping[str, Any]) -> str:
    """A row for each model and exporter, and below them what failed."""
    columns = list(dict.fromkeys(key.rpartition(" ")[0] for model in models.values() for key in model["cells"]))
    rows, failures = [], []
    for name, model in models.items():
        for exporter in EXPORTERS:
            cells = {column: model["cells"][f"{column} {exporter}"] for column in columns}
            rows.append([name, exporter, *map(_word, cells.values())])
            failures += [
                f"- {name}, {column}, {exporter}: {cell['state']}. {cell['reason']}"
                for column, cell in cells.items()
                if "reason" in cell
            ]
    header = ["model", "exporter", *columns]
    lines = [header, ["---"] * len(header), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join(filter(None, [table, "\n".join(failures)]))


if __name__ == "__main__":
    sys.exit(main())
