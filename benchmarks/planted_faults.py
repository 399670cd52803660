"""Planted faults: which a deploy refuses, by which comparison, and which module an alignment names.

Each fault is planted in the exported graph, the manifest or the runtime inside a real deploy, whose export and
reference run are made once for each model. What a deploy lets pass is run on the 64 validation images, beside the
deployment without the fault. Results are kept for each fault, so that an interrupted run goes on.

    python benchmarks/planted_faults.py --page docs/measured/planted_faults.md
"""

import argparse
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

from fault_list import CONFIGS, FAULTS, Fault
from fault_trial import Trial, trial_of
from measured import keep, machine, sources, state_of, write_page

STATE = ROOT / "work_dirs/planted_faults.json"
CODE = ("pipeline", "rewriters", "backends", "zoo", "benchmarks/fault_list.py", "benchmarks/planting.py")
PACKAGES = ("torch", "torchvision", "onnxruntime")
HEAD = (
    "| model | kind | fault | deploy | first comparison that fails | align names | right |\n"
    "|---|---|---|---|---|---|---|"
)


def main() -> int:
    """Measure what is not measured yet; 3 where a fault changes results and is not refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--any-sources", action="store_true", help="go on although the code has changed since")
    parser.add_argument("--config", choices=CONFIGS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    stamp = "any" if args.any_sources else sources(*CODE)
    if args.config:
        _measure(args.config, args.state, stamp)
        return 0
    for config in CONFIGS:
        command = [sys.executable, __file__, "--config", config, "--state", str(args.state)]
        subprocess.run([*command, *(["--any-sources"] if args.any_sources else [])], check=False)
    state = state_of(args.state, stamp, *PACKAGES)
    results = {fault.name: state[fault.name] for fault in FAULTS if fault.name in state}
    slipped = [name for name, result in results.items() if result["verdict"] == "passed" and result["beyond"]]
    print(_counts(results))
    if args.page:
        _write(args.page, results)
    return 3 if slipped or len(results) < len(FAULTS) else 0


def _measure(config: str, path: Path, stamp: str) -> None:
    warnings.simplefilter("ignore")
    state = state_of(path, stamp, *PACKAGES)
    faults = [fault for fault in FAULTS if fault.config == config and fault.name not in state]
    if not faults:
        return
    with trial_of(config) as trial:
        verdict = trial.begin()
        if verdict != "passed":
            raise SystemExit(f"{config} without a fault: {verdict}")
        for fault in faults:
            state[fault.name] = _result(trial, fault)
            keep(state, path)
            print(fault.name, state[fault.name], flush=True)


def _result(trial: Trial, fault: Fault) -> dict[str, Any]:
    verdict = trial.deploy(fault)
    images, different, beyond = trial.changed(fault) if verdict == "passed" else (0, 0, 0)
    return {
        "kind": fault.kind,
        "verdict": verdict,
        "module": fault.module,
        "named": trial.named(fault) if fault.graph is not None else None,
        "images": images,
        "different": different,
        "beyond": beyond,
    }


def _is_right(result: dict[str, Any]) -> bool:
    """Whether the module at fault is the named one, or among those that one pair is made of."""
    module, named = result["module"], result["named"]
    return bool(named) and (module or "(the model's own forward)") in named.split(" + ")


def _row(name: str, result: dict[str, Any]) -> str:
    model, what = name.split(": ", 1)
    refused = result["verdict"] != "passed"
    if refused:
        deploy, comparison = "refused", result["verdict"][:160].replace("|", "/")
    elif result["beyond"]:
        deploy = f"**not refused**: {result['beyond']} of {result['images']} images beyond the bounds"
        comparison = ""
    elif result["different"]:
        deploy, comparison = f"harmless: {result['images']} images within the bounds", ""
    else:
        deploy, comparison = f"harmless: {result['images']} images identical", ""
    named, right = result["named"] or "", ""
    if result["module"] is not None:
        right = "yes" if _is_right(result) else ("no" if refused or result["beyond"] else "")
    elif not named:
        named = "in no module"
    return f"| {model} | {result['kind']} | {what} | {deploy} | {comparison} | {named} | {right} |"


def _counts(results: dict[str, dict[str, Any]]) -> str:
    rows: Sequence[dict[str, Any]] = list(results.values())
    refused = [row for row in rows if row["verdict"] != "passed"]
    slipped = [row for row in rows if row["verdict"] == "passed" and row["beyond"]]
    inside = [row for row in rows if row["module"] is not None and (row in refused or row in slipped)]
    return (
        f"{len(rows)} of {len(FAULTS)} faults tried: {len(refused)} refused, {len(slipped)} change results and are not "
        f"refused, {len(rows) - len(refused) - len(slipped)} harmless. Of {len(inside)} harmful ones in a module "
        f"{sum(map(_is_right, inside))} are named to it."
    )


def _write(page: Path, results: dict[str, dict[str, Any]]) -> None:
    intro = (
        "Faults that were planted in the exported graph, the manifest or the runtime inside a real deploy: whether the "
        "deploy refuses, by which comparison first, and which module `align` names for it on two images. What is not "
        "refused was run on the model's validation images (64, or all where there are fewer) beside the deployment "
        "without a fault, two at a time: harmless where every result is identical, or within the bounds of the "
        f"contract.\n\n{_counts(results)}\n\n" + machine(*PACKAGES)
    )
    table = "\n".join([HEAD, *(_row(name, result) for name, result in results.items())])
    write_page(page, "Planted faults", intro, "benchmarks/planted_faults.py", table)


if __name__ == "__main__":
    sys.exit(main())
