"""What all tools share: missing libraries, quick help, unknown flags, and one-line errors of the smaller tools."""

import subprocess
import sys
from pathlib import Path

import pytest

from zoo.config import load_config
from zoo.recipe_data import check_recipe_data

ROOT = Path(__file__).parents[2]
BLOCKED = """
import runpy, sys
sys.modules.update(dict.fromkeys(sys.argv[2].split(",")))
sys.argv[:] = [sys.argv[1], *sys.argv[3:]]
sys.path[0] = "tools"
runpy.run_path(sys.argv[0], run_name="__main__")
"""
CONFIG = "configs/segmentation/fcn_r18_digits.py"
MATRIX = "configs/regression/small.yaml"
HEAVY = "torch,mmengine,rich,sklearn,skimage,pycocotools,cv2"


def run(tool: str, blocked: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A tool in a process that lacks some libraries."""
    command = [sys.executable, "-c", BLOCKED, f"tools/{tool}.py", blocked, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize(
    ("tool", "library", "extra", "arguments"),
    [
        *(
            pytest.param("deploy", library, "export", [CONFIG], marks=pytest.mark.slow)
            for library in ("rich", "torch", "mmengine", "jinja2", "scipy")
        ),
        ("train", "torch", "export", [CONFIG]),
        pytest.param("evaluate", "pycocotools", "evaluate", [CONFIG], marks=pytest.mark.slow),
        ("evaluate", "torch", "export", [CONFIG]),
        ("regression", "yaml", "evaluate", [MATRIX]),
        ("regression", "jinja2", "export", [MATRIX]),
        ("make_digits", "pycocotools", "evaluate", ["val", "--out", "work_dirs/never"]),
    ],
)
def test_a_missing_library_is_named_with_what_installs_it(
    tool: str, library: str, extra: str, arguments: list[str]
) -> None:
    done = run(tool, library, *arguments)
    assert done.returncode == 4, done.stderr
    assert done.stderr == f'error: {library} is not installed, and this needs it: pip install "zooport[{extra}]"\n'


@pytest.mark.parametrize(
    "tool", ["deploy", "evaluate", "train", "make_digits", "regression", "update_zoo", "check_export", "what_if"]
)
def test_help_and_wrong_flags_load_no_library(tool: str) -> None:
    done = run(tool, HEAVY, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "example" in done.stdout
    done = (
        run(tool, HEAVY, "x", "--verbos") if tool != "make_digits" else run(tool, HEAVY, "val", "--out=x", "--verbos")
    )
    assert done.returncode == 2
    assert done.stderr.startswith('error: unknown argument --verbos; nearest: "--verbose"')


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        *(
            (tool, [CONFIG, flag, wrong], f'unknown {name} "{wrong}"; nearest: "{right}"')
            for tool in ("deploy", "align")
            for flag, name, wrong, right in (
                ("--precision", "precision", "fp61", "fp16"),
                ("--exporter", "exporter", "dinamo", "dynamo"),
                ("--output-level", "level", "decodet", "decoded"),
            )
        ),
        ("deploy", [CONFIG, "--layout", "ultralitics"], 'unknown layout "ultralitics"; nearest: "ultralytics"'),
        ("deploy", [CONFIG, "--slide", "hots"], 'unknown slide "hots"; nearest: "host"'),
        ("deploy", [CONFIG, "--dynamic", "widht"], '--dynamic widht: unknown axis "widht"; nearest: "width"'),
        ("deploy", [CONFIG, "--engine", "batchs=1"], '--engine batchs=1: unknown option "batchs"; nearest: "batches"'),
        ("deploy", [CONFIG, "--image", "README.dm"], 'image README.dm: no such file; nearest: "README.md"'),
        ("deploy", [CONFIG, "--checkpoint", "LICENCE"], 'checkpoint LICENCE: no such file; nearest: "LICENSE"'),
        ("evaluate", [CONFIG, "--precision", "fp61"], 'unknown precision "fp61"; nearest: "fp16"'),
        ("evaluate", [CONFIG, "--deployment", "dosc"], '--deployment dosc: no such folder; nearest: "docs"'),
        ("evaluate", [CONFIG, "--checkpoint", "LICENCE"], 'checkpoint LICENCE: no such file; nearest: "LICENSE"'),
        ("align", [CONFIG, "--deployment", "dosc"], '--deployment dosc: no such folder; nearest: "docs"'),
        ("align", [CONFIG, "--onnx", "README.dm"], '--onnx README.dm: no such file; nearest: "README.md"'),
        ("what_if", [CONFIG, "--checkpoint", "LICENCE"], 'checkpoint LICENCE: no such file; nearest: "LICENSE"'),
        ("sensitivity", [CONFIG, "--checkpoint", "LICENCE"], 'checkpoint LICENCE: no such file; nearest: "LICENSE"'),
        ("check_export", [CONFIG, "--exporter", "dinamo"], 'unknown exporter "dinamo"; nearest: "dynamo"'),
    ],
)
def test_a_typo_is_answered_without_torch_and_mmengine(tool: str, arguments: list[str], message: str) -> None:
    """A library that is missing here would be the error, with exit code 4."""
    done = run(tool, "torch,torchvision,mmengine", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f"error: {message}")
    assert done.stdout == ""


@pytest.mark.parametrize("tool", ["deploy", "align", "evaluate"])
def test_a_backends_typo_is_answered_when_the_config_is_read(tool: str) -> None:
    """Not before: its custom_imports may bring backends. And without torch."""
    done = run(tool, "torch,torchvision", CONFIG, "--backend", "onxruntime")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith('error: unknown backend "onxruntime"; nearest: "onnxruntime"')


@pytest.mark.parametrize("tool", ["deploy", "evaluate", "align", "train", "what_if", "sensitivity"])
def test_a_config_is_read_without_torch(tool: str, tmp_path: Path) -> None:
    wrong = CONFIG.replace("r18", "r81")
    done = run(tool, "torch,torchvision", wrong)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f'error: config {wrong}: no such file; nearest: "{CONFIG}"')
    faulty = tmp_path / "faulty.py"
    faulty.write_text(f'_base_ = ["{ROOT / CONFIG}"]\nexport = dict(exportr="dynamo")\n', encoding="utf-8")
    done = run(tool, "torch,torchvision", str(faulty))
    assert (done.returncode, done.stdout) == (2, "")
    assert 'unknown key export."exportr"; nearest: "exporter"' in done.stderr


SWITCHED_OFF = "card = gate_dataset = calibration_dataset = None"


@pytest.mark.parametrize(
    ("config", "changes", "message"),
    [
        (
            "detection/yolov5n_digits.py",
            'dataset = dict(_delete_=True, type="CocoDetection", annotations="a.json", images="images")\n'
            + SWITCHED_OFF,
            "training on dataset CocoDetection needs training data: without train_dataset only the shipped recipes",
        ),
        (
            "detection/faster-rcnn_r18-fpn_digits.py",
            'task = dict(classes=[dict(name=n, category_id=i) for i, n in enumerate(["none", "a", "b", "c"])])\n',
            "training on 3 classes of one's own needs training data: without train_dataset only the shipped recipes",
        ),
        (
            "restoration/srcnn_x3_photographs.py",
            'dataset = dict(_delete_=True, type="SuperResolutionFolder", root="mine", scale=3)\n' + SWITCHED_OFF,
            "training on dataset SuperResolutionFolder needs training data: without train_dataset only the shipped",
        ),
    ],
)
def test_training_without_training_data_is_refused_before_torch_is_imported(
    config: str, changes: str, message: str, tmp_path: Path
) -> None:
    path, work_dir = tmp_path / "mine.py", tmp_path / "work"
    path.write_text(f'_base_ = ["{ROOT / "configs" / config}"]\n{changes}', encoding="utf-8")
    done = run("train", "torch,torchvision", str(path), "--work-dir", str(work_dir))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: config {path}: {message}")
    assert done.stderr.count("\n") == 1
    assert not work_dir.exists()


def test_the_shipped_recipes_are_not_refused() -> None:
    configs = [load_config(path) for path in (ROOT / "configs").rglob("*.py") if path.parent.name != "_base_"]
    recipes = [config for config in configs if config.train is not None]
    assert len(recipes) == 16
    for config in recipes:
        check_recipe_data(config)


def test_a_target_that_cannot_be_built_is_refused_without_torch() -> None:
    done = run("deploy", "torch,torchvision", CONFIG, "--opset", "12")
    assert (done.returncode, done.stderr) == (2, "error: opset 12: expected 17 to 26\n")
    done = run("deploy", "torch,torchvision", CONFIG, "--engine", "workspace_mib=64")
    assert done.returncode == 2
    assert done.stderr.startswith("error: engine options with backend onnxruntime: it builds no engine")


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no /sys on this system")
@pytest.mark.parametrize(
    ("tool", "flag", "arguments"),
    [
        pytest.param("train", "--work-dir", [CONFIG], marks=pytest.mark.slow),
        ("regression", "--work-dir", [MATRIX]),
        ("make_digits", "--out", ["val"]),
    ],
)
def test_an_unwritable_folder_is_the_users(tool: str, flag: str, arguments: list[str]) -> None:
    done = run(tool, "none", *arguments, flag, "/sys/zooport")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: /sys/zooport")
    assert done.stderr.endswith(f" give another {flag}\n")
    assert done.stderr.count("\n") == 1
