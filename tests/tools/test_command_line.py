"""What all tools share: missing libraries, quick help, unknown flags, and one-line errors of the smaller tools."""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.tools.tiny import Run
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
MANY = """
import contextlib, io, json, runpy, sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))
sys.path.insert(0, "tools")
for arguments in json.load(sys.stdin):
    sys.argv[:] = arguments
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(arguments[0], run_name="__main__")
            code = 0
        except SystemExit as stop:
            code = stop.code
    print(json.dumps([arguments, code, out.getvalue(), err.getvalue()]))
"""
HEAVY = "torch,mmengine,rich,sklearn,skimage,pycocotools,cv2"


def run(tool: str, blocked: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A tool in a process that lacks some libraries."""
    command = [sys.executable, "-c", BLOCKED, f"tools/{tool}.py", blocked, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})


def run_each(blocked: str, calls: Iterable[Sequence[str]]) -> dict[tuple[str, ...], Run]:
    """The same for many calls, of a tool and its arguments, one after the other in one process."""
    commands = [[f"tools/{tool}.py", *arguments] for tool, *arguments in calls]
    done = subprocess.run(
        [sys.executable, "-c", MANY, blocked],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {(Path(tool).stem, *arguments): Run(code, out, err) for (tool, *arguments), code, out, err in answers}


@pytest.mark.parametrize(
    ("tool", "library", "extra", "arguments"),
    [
        *(
            pytest.param("deploy", library, "export", [CONFIG], marks=pytest.mark.slow)
            for library in ("rich", "torch", "mmengine", "jinja2", "scipy", "pycocotools")
        ),
        ("train", "torch", "export", [CONFIG]),
        pytest.param("evaluate", "torch", "export", [CONFIG], marks=pytest.mark.slow),
        pytest.param("evaluate", "pycocotools", "export", [CONFIG], marks=pytest.mark.slow),
        ("regression", "yaml", "evaluate", [MATRIX]),
        pytest.param("regression", "jinja2", "export", [MATRIX], marks=pytest.mark.slow),
        pytest.param(
            *("make_digits", "pycocotools", "export", ["val", "--out", "work_dirs/never"]), marks=pytest.mark.slow
        ),
    ],
)
def test_a_missing_library_is_named_with_what_installs_it(
    tool: str, library: str, extra: str, arguments: list[str]
) -> None:
    done = run(tool, library, *arguments)
    assert done.returncode == 4, done.stderr
    assert done.stderr == f'error: {library} is not installed, and this needs it: pip install "zooport[{extra}]"\n'


def test_a_deploy_needs_no_more_than_the_extra_export(tmp_path: Path) -> None:
    images = map(str, sorted((ROOT / "zoo/data/digits/val/images").iterdir())[:2])
    done = run("deploy", "sklearn,skimage", CONFIG, "--image", *images, "--work-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr


WRONG_FLAG = {
    tool: ["val", "--out=x", "--verbos"] if tool == "make_digits" else ["x", "--verbos"]
    for tool in ("deploy", "evaluate", "train", "make_digits", "regression", "update_zoo", "check_export", "what_if")
}


@pytest.fixture(scope="module")
def helped() -> dict[tuple[str, ...], Run]:
    calls = [(tool, *arguments) for tool, wrong in WRONG_FLAG.items() for arguments in (["--help"], wrong)]
    return run_each(HEAVY, calls)


@pytest.mark.parametrize("tool", WRONG_FLAG)
def test_help_and_wrong_flags_load_no_library(helped: dict[tuple[str, ...], Run], tool: str) -> None:
    done = helped[tool, "--help"]
    assert (done.code, done.err) == (0, "")
    assert "example" in done.out
    done = helped[tool, *WRONG_FLAG[tool]]
    assert done.code == 2
    assert done.err.startswith('error: unknown argument --verbos; nearest: "--verbose"')


TYPOS: list[tuple[str, list[str], str]] = [
    *(
        (tool, [CONFIG, flag, wrong], f'unknown {name} "{wrong}"; nearest: "{right}"')
        for tool in ("deploy", "align")
        for flag, name, wrong, right in (
            ("--precision", "precision", "fp61", "fp16"),
            ("--exporter", "exporter", "dinamo", "dynamo"),
            ("--output-level", "level", "decodet", "decoded"),
        )
    ),
    ("deploy", [CONFIG, "--slide", "hots"], 'unknown slide "hots"; nearest: "host"'),
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
]


@pytest.fixture(scope="module")
def answered() -> dict[tuple[str, ...], Run]:
    return run_each("torch,torchvision,mmengine", [(tool, *arguments) for tool, arguments, _ in TYPOS])


@pytest.mark.parametrize(("tool", "arguments", "message"), TYPOS)
def test_a_typo_is_answered_without_torch_and_mmengine(
    answered: dict[tuple[str, ...], Run], tool: str, arguments: list[str], message: str
) -> None:
    """A library that is missing here would be the error, with exit code 4."""
    done = answered[tool, *arguments]
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert done.err.startswith(f"error: {message}")
    assert done.out == ""


FROM_THE_CONFIG = {
    ("deploy", CONFIG, "--dynamic", "widht"): '--dynamic widht: unknown axis "widht"; nearest: "width"',
    ("deploy", CONFIG, "--engine", "batchs=1"): '--engine batchs=1: unknown option "batchs"; nearest: "batches"',
}


@pytest.fixture(scope="module")
def answered_without_torch() -> dict[tuple[str, ...], Run]:
    return run_each("torch,torchvision", FROM_THE_CONFIG)


@pytest.mark.parametrize("command", FROM_THE_CONFIG)
def test_a_typo_in_what_a_config_can_register_is_answered_without_torch(
    answered_without_torch: dict[tuple[str, ...], Run], command: tuple[str, ...]
) -> None:
    """The axes are those of the config's input kind, the options those of a backend that it may import."""
    done = answered_without_torch[command]
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {FROM_THE_CONFIG[command]}")


Read = tuple[str, dict[tuple[str, ...], Run]]
READERS = ("deploy", "evaluate", "align", "train", "what_if", "sensitivity")
WRONG = CONFIG.replace("r18", "r81")
BACKEND = (CONFIG, "--backend", "onxruntime")
OPSET, ENGINE = (CONFIG, "--opset", "12"), (CONFIG, "--engine", "workspace_mib=64")


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """A config with a wrong key, and what the tools that read configs answer without torch."""
    faulty = tmp_path_factory.mktemp("config") / "faulty.py"
    faulty.write_text(f'_base_ = ["{ROOT / CONFIG}"]\nexport = dict(exportr="dynamo")\n', encoding="utf-8")
    calls = [
        *((tool, config) for tool in READERS for config in (WRONG, str(faulty))),
        *((tool, *BACKEND) for tool in ("deploy", "align", "evaluate")),
        *(("deploy", *arguments) for arguments in (OPSET, ENGINE)),
    ]
    return str(faulty), run_each("torch,torchvision", calls)


@pytest.mark.parametrize("tool", ["deploy", "align", "evaluate"])
def test_a_backends_typo_is_answered_when_the_config_is_read(read: Read, tool: str) -> None:
    """Not before: its custom_imports may bring backends. And without torch."""
    done = read[1][tool, *BACKEND]
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert done.err.startswith('error: unknown backend "onxruntime"; nearest: "onnxruntime"')


@pytest.mark.parametrize("tool", READERS)
def test_a_config_is_read_without_torch(read: Read, tool: str) -> None:
    faulty, answers = read
    done = answers[tool, WRONG]
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f'error: config {WRONG}: no such file; nearest: "{CONFIG}"')
    done = answers[tool, faulty]
    assert (done.code, done.out) == (2, "")
    assert 'unknown key export."exportr"; nearest: "exporter"' in done.err


def test_a_target_that_cannot_be_built_is_refused_without_torch(read: Read) -> None:
    done = read[1]["deploy", *OPSET]
    assert (done.code, done.err) == (2, "error: opset 12: expected 17 to 26\n")
    done = read[1]["deploy", *ENGINE]
    assert done.code == 2
    assert done.err.startswith("error: engine options with backend onnxruntime: it builds no engine")


SWITCHED_OFF = "card = gate_dataset = calibration_dataset = None"


UNTRAINABLE = {
    "detection/yolov5n_digits.py": (
        'dataset = dict(_delete_=True, type="CocoDetection", annotations="a.json", images="images")\n' + SWITCHED_OFF,
        "training on dataset CocoDetection needs training data: without train_dataset only the shipped recipes",
    ),
    "detection/faster-rcnn_r18-fpn_digits.py": (
        'task = dict(classes=[dict(name=n, category_id=i) for i, n in enumerate(["none", "a", "b", "c"])])\n',
        "training on 3 classes of your own needs training data: without train_dataset only the shipped recipes",
    ),
    "restoration/srcnn_x3_photographs.py": (
        'dataset = dict(_delete_=True, type="SuperResolutionFolder", root="mine", scale=3)\n' + SWITCHED_OFF,
        "training on dataset SuperResolutionFolder needs training data: without train_dataset only the shipped",
    ),
    "restoration/srcnn_any-scale_photographs.py": (
        'train_dataset = dict(type="SuperResolutionFolder", root="mine", scales=(2, 3, 4))\n'
        "dataset = checkpoint = None\ntrain = dict(iterations=2)\n" + SWITCHED_OFF,
        "train_dataset: super-resolution does not support training data of your own yet; leave it out, and train",
    ),
}
"""A shipped config -> what a user changes of it, and what is said then."""


def test_training_without_training_data_is_refused_before_torch_is_imported(tmp_path: Path) -> None:
    work_dir, messages = tmp_path / "work", {}
    for number, (config, (changes, message)) in enumerate(UNTRAINABLE.items()):
        path = tmp_path / f"mine{number}.py"
        path.write_text(f'_base_ = ["{ROOT / "configs" / config}"]\n{changes}', encoding="utf-8")
        messages["train", str(path), "--work-dir", str(work_dir)] = f"error: config {path}: {message}"
    for command, done in run_each("torch,torchvision", messages).items():
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(messages[command])
        assert done.err.count("\n") == 1
        assert ("add train_dataset" in done.err) == ("super-resolution" not in done.err)
    assert not work_dir.exists()


def test_the_shipped_recipes_are_not_refused() -> None:
    configs = [load_config(path) for path in (ROOT / "configs").rglob("*.py") if path.parent.name != "_base_"]
    recipes = [config for config in configs if config.train is not None]
    assert len(recipes) == 21
    for config in recipes:
        check_recipe_data(config)


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no /sys on this system")
@pytest.mark.parametrize(
    ("tool", "flag", "arguments"),
    [
        pytest.param("train", "--work-dir", [CONFIG], marks=pytest.mark.slow),
        ("regression", "--work-dir", [MATRIX]),
        pytest.param("make_digits", "--out", ["val"], marks=pytest.mark.slow),
    ],
)
def test_an_unwritable_folder_is_the_users(tool: str, flag: str, arguments: list[str]) -> None:
    done = run(tool, "none", *arguments, flag, "/sys/zooport")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: /sys/zooport")
    assert done.stderr.endswith(f" give another {flag}\n")
    assert done.stderr.count("\n") == 1


def test_no_tool_hides_a_package() -> None:
    """Python looks for packages beside a script first; torch imports triton, for example."""
    assert not packages_distributions().keys() & {path.stem for path in (ROOT / "tools").glob("*.py")}
