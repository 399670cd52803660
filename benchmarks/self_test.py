"""How far a deployment's self-test is off by rounding, and how far on a CPU that saturates: the basis of its gates.

Each model is brought to fp32, fp16 and int8 (weights of 7 bits, and of 8, which no deployment for ONNX Runtime has),
and its self-test made here. Then other ways of computing run it: ONNX Runtime with its optimisations off, which
computes int8 in floats, and this very Python under qemu-user as a CPU with AVX2 alone, where 8 bits saturate. No metric
is computed.

    python benchmarks/self_test.py work_dirs/self_test --page docs/measured/self_test.md
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import onnxruntime

from backends import Deployment, load
from backends.onnxruntime import session
from backends.self_test.check import SelfTestFailedError

MODELS = (
    *("detection/faster-rcnn_r18-fpn_digits", "detection/mask-rcnn_r18-fpn_digits", "detection/ssdlite_r18-fpn_digits"),
    *("segmentation/fcn_r18_digits", "segmentation/upernet_r18_digits", "restoration/srcnn_x3_photographs"),
)
FORMS = {"fp32": ("fp32", 8), "fp16": ("fp16", 8), "int8, 7 bits": ("int8", 7), "int8, 8 bits": ("int8", 8)}
"""-> the precision, and the bits of weights in int8."""
HERE = "this CPU, 2 threads"
EMULATED = "AVX2 alone (qemu)"
SETTINGS: Mapping[str, tuple[Sequence[str], str, int]] = {
    HERE: ((), "ORT_ENABLE_ALL", 2),
    "no optimisation": ((), "ORT_DISABLE_ALL", 1),
    "basic optimisation": ((), "ORT_ENABLE_BASIC", 1),
    EMULATED: (("qemu-x86_64", "-cpu", "Haswell"), "ORT_ENABLE_ALL", 1),
}
"""-> what the process runs under, ONNX Runtime's optimisation level, threads."""
HEAD = "| model | form | computed by | output | off by | gate | passes |\n|---|---|---|---|---|---|---|"
INTRO = """A self-test ([what it is](../deployments.md#the-self-test)) proved on this CPU, then run by others.
Without optimisation ONNX Runtime computes int8 in floats: the largest difference that rounding alone makes. AVX2 alone
is an emulation of a CPU without VNNI. Weights of 7 bits, which deployments have, are exact there; those of 8 bits
saturate, and the gate finds that where it moves the outputs by more than rounding does. fp16 is stored, and computed in
float32: ONNX Runtime has no kernels of fp16 for these CPUs.
"""


def main() -> int:
    """Print and write the table; 3 where rounding alone misses a gate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work_dir", type=Path)
    parser.add_argument("--models", nargs="+", default=MODELS, help="of configs, without .py")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--run", choices=SETTINGS, help=argparse.SUPPRESS)  # in a child: work_dir is a deployment
    options = parser.parse_args()
    if options.run:
        sys.stdout.write(json.dumps(figures(options.work_dir, options.run)) + "\n")
        return 0
    if shutil.which("qemu-x86_64") is None:
        parser.error("qemu-x86_64 is not installed; install qemu-user")
    from measured import machine, write_page

    rows, wrong = [], 0
    for model, form in ((model, form) for model in options.models for form in FORMS):
        folder = options.work_dir / Path(model).name / form.replace(", ", "-").replace(" ", "-")
        if not (folder / "deployment.json").is_file() and not made(model, form, folder):
            continue
        for setting, (under, _, _) in SETTINGS.items():
            found = json.loads(child(folder, setting, under))
            passes = all(figure["passed"] for figure in found)
            saturates = form.endswith("8 bits") and setting == EMULATED
            wrong += not (passes or saturates)
            rows += [words(model, form, setting, figure) for figure in found]
            sys.stdout.write("\n".join(rows[-len(found) :]) + "\n")
            sys.stdout.flush()
    if options.page:
        intro = f"{INTRO}\n{machine('onnxruntime', 'numpy', 'opencv-python')}"
        table = "\n".join([HEAD, *rows])
        write_page(options.page, "The basis of the self-test's gates", intro, "benchmarks/self_test.py WORK_DIR", table)
    return 3 if wrong else 0


def child(folder: Path, setting: str, under: Sequence[str]) -> str:
    """What a process of its own writes: only so is the CPU another one."""
    command = [*under, sys.executable, __file__, str(folder), "--run", setting]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return str(done.stdout)


def figures(folder: Path, setting: str) -> list[dict[str, Any]]:
    """Of each output, in one of SETTINGS."""
    _, level, threads = SETTINGS[setting]
    usual = session.session_options

    def at_level(*given: Any, **more: Any) -> onnxruntime.SessionOptions:
        chosen = usual(*given, **more)
        chosen.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        return chosen

    with patch.object(session, "session_options", at_level), load(folder, threads=threads) as model:
        return deviations(model)


def deviations(model: Deployment) -> list[dict[str, Any]]:
    """Of each output of the model's self-test, whether or not it passes."""
    try:
        return [found.to_dict() for found in model.check().deviations]
    except SelfTestFailedError as error:
        outputs: list[dict[str, Any]] = error.data["outputs"]
        return outputs


def made(name: str, form: str, folder: Path) -> bool:
    """Export, bring to the form, describe, and add the self-test. False where nothing of it is computed in int8."""
    from backends.refused import NothingComputedError
    from pipeline.export.dtype_counts import computed_dtypes
    from pipeline.export.export_step import export_step
    from pipeline.export.manifest import manifest
    from pipeline.export.reference_run import run_reference
    from pipeline.job.deploy_target import deploy_target
    from pipeline.job.job import plan_job
    from pipeline.self_test.case import self_test_case
    from pipeline.self_test.writing import with_self_test
    from zoo.build import build_model
    from zoo.config import config_target, load_config

    precision, bits = FORMS[form]
    config = load_config(ROOT / f"configs/{name}.py")
    target = deploy_target(config)
    if precision != "fp32":
        options = config_target(config, precision).precision_options
        target = target.with_(precision=precision, precision_options=options)
    job = plan_job(config, target, (), folder / "work")
    model = build_model(job.config, None)
    reference = run_reference(job, model)
    case = self_test_case(job, model, reference)
    assert case is not None  # of level final
    folder.mkdir(parents=True, exist_ok=True)
    from zoo.dialect import Dialect

    with patch("rewriters.precision.converter.dialect_of", lambda _backend: Dialect(weight_bits=bits)):
        export = export_step(job, model, reference, folder)
    try:
        computed = computed_dtypes(job.target, folder, None, dict(reference.graph[0].given.arrays))
    except NothingComputedError:
        return False
    described = manifest(job, model, export, folder, None, computed)
    described.write(folder)
    with_self_test(job, case, reference.rule, folder, described).write(folder)
    return True


def words(model: str, form: str, setting: str, figure: Mapping[str, Any]) -> str:
    """A row of the table."""
    worst = "not finite" if figure["worst"] is None else f"{figure['worst']:.3g}"
    gate = f"{figure['gate']:.3g} {figure['unit']}".strip()
    passes = "yes" if figure["passed"] else "no"
    return f"| {Path(model).name} | {form} | {setting} | {figure['output']} | {worst} | {gate} | {passes} |"


if __name__ == "__main__":
    sys.exit(main())
