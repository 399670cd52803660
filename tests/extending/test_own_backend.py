"""A backend that lives outside of the packages goes through deploy, evaluate, align and the report."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from packaging.version import Version

from backends import available, load, registry
from backends.engine_options import EngineOptions
from backends.registry import backends, get_backend
from pipeline import align, deploy, evaluate
from pipeline.job.backend_options import options_help, parse_options
from pipeline.job.deploy_target import default_target, deploy_target
from pipeline.job.deployment_path import deployment_place
from zoo.config import config_target, load_config
from zoo.errors import InputError
from zoo.manifest import Manifest
from zoo.target import AxisRange

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent / "backend"
CONFIG = OWN / "small_digits.py"
IMAGES = sorted((ROOT / "zoo/data/digits/val/images").iterdir())[8:24:8]
NAME = "onnx-reference"


@pytest.fixture(scope="module")
def forgotten() -> Iterator[None]:
    """What this file registers is forgotten behind it."""
    before = dict(backends())  # zooport's own are found once
    yield
    registry._BACKENDS.clear()
    registry._BACKENDS.update(before)
    sys.modules.pop("onnx_reference", None)


@pytest.fixture(scope="module")
def deployed(forgotten: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if Version(onnx.__version__) < Version("1.22"):
        pytest.skip("onnx before 1.22 resizes in Python, one pixel at a time: minutes an image")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # the config's data set is named from there
        work_dir = tmp_path_factory.mktemp("work")
        target = config_target(load_config(CONFIG)).with_(
            backend=NAME, exporter="torchscript", batch=AxisRange(1, 2, 2)
        )
        deploy(CONFIG, target, images=IMAGES, work_dir=work_dir).close()
        (manifest,) = work_dir.rglob("deployment.json")
        yield manifest.parent


def test_a_deploy_proves_it(deployed: Path) -> None:
    manifest = Manifest.read(deployed)
    assert (manifest.backend, manifest.parity) == (NAME, {"verdict": "passed"})
    assert deployed.name.startswith(f"{NAME}-fp32")
    assert "onnx" in manifest.proved_on["versions"]  # type: ignore[index]
    assert "passed" in json.loads((deployed / "parity.json").read_text(encoding="utf-8"))["verdict"]
    report = (deployed / "report.html").read_text(encoding="utf-8")
    assert f"{NAME}, cpu" in report
    assert manifest.engine == {"only_finite": True}  # the config's, whose other option is another backend's


def test_what_runs_it_is_the_backend_itself(deployed: Path) -> None:
    with load(deployed) as model:
        assert type(model.runner).__name__ == "ReferenceRunner"
        assert model.runner.only_finite  # type: ignore[attr-defined]  # of the manifest
        assert model.note is None
        assert model(np.zeros((70, 90, 3), np.uint8)).label_map.shape == (70, 90)
    assert available()[NAME] is None
    assert get_backend(NAME).dialect.operator_form == "runtime"


def test_its_options_are_those_of_the_config_and_of_the_command_line(forgotten: None) -> None:
    config = load_config(CONFIG)
    default = default_target(config, NAME, "fp32")
    for flags, value, folder in (([], True, f"{NAME}-fp32"), (["only_finite=false"], False, f"{NAME}-fp32-ofFalse")):
        target = deploy_target(config, backend=NAME, engine=parse_options(flags, NAME))
        assert target.engine is not None
        assert target.engine.to_dict() == {"only_finite": value}
        assert deployment_place("work", "task", "net", target, default).name == folder
    assert deploy_target(config).engine is None
    assert isinstance(deploy_target(config, backend="tensorrt").engine, EngineOptions)
    assert f"of {NAME}: only_finite (an output with nan or inf is an error)" in options_help()


@pytest.mark.parametrize(
    ("backend", "flag", "words"),
    [
        (NAME, "finite=true", '--engine finite=true: unknown option "finite"; nearest: "only_finite"'),
        pytest.param(
            *(NAME, "workspace_mib=64"),
            '--engine workspace_mib=64: unknown option "workspace_mib"; nearest: "only_finite"',
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(NAME, "only_finite=3"), "option only_finite is 3, expected True or False", marks=pytest.mark.slow
        ),
        ("onnxruntime", "only_finite=true", "engine options with backend onnxruntime: it builds no engine; leave "),
    ],
)
def test_a_wrong_option_is_found_without_torch(tmp_path: Path, backend: str, flag: str, words: str) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT)))}
    command = [sys.executable, "tools/deploy.py", str(CONFIG), "--backend", backend, "--engine", flag]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f"error: {words}")


def test_a_config_with_an_option_that_no_backend_has(tmp_path: Path, forgotten: None) -> None:
    path = tmp_path / "typo.py"
    for engine, words in (
        ("finite=False", 'unknown engine option "finite"; nearest: "only_finite"'),
        ("workspace_mib=0", "engine option workspace_mib is 0, expected an integer"),
    ):
        path.write_text(f'_base_ = ["{CONFIG}"]\nexport = dict(engine=dict({engine}))\n')
        with pytest.raises(InputError, match=f"typo.py: export.engine: {words}"):
            deploy_target(load_config(path))


def test_evaluate_and_align_take_it(deployed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    rows = evaluate(CONFIG, deployments=[deployed], work_dir=tmp_path, limit=2).rows
    assert [(row.backend, row.verdict) for row in rows] == [("pytorch", "reference"), (NAME, "passed")]
    aligned = align(CONFIG, deployment=deployed)
    assert aligned.first_name is None
    assert aligned.outputs is not None
    assert not aligned.outputs.failures


def test_an_entry_point_brings_it_to_production(deployed: Path, tmp_path: Path) -> None:
    """Where its package is installed, nothing needs to import it: `load` finds it by the manifest's name."""
    facts = tmp_path / "onnx_reference-1.0.dist-info"
    facts.mkdir()
    (facts / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\n{NAME} = onnx_reference\n")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: onnx-reference\nVersion: 1.0\n")
    code = "import sys, backends; print(backends.available()[sys.argv[2]], backends.load(sys.argv[1]))"
    for paths, found in (((ROOT, OWN, tmp_path), True), ((ROOT, OWN), False)):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        command = [sys.executable, "-c", code, deployed, NAME]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if found:
            assert done.stdout == f"None <Deployment small_digits: semantic-segmentation, {NAME} fp32>\n", done.stderr
        else:
            assert f"KeyError: '{NAME}'" in done.stderr


def test_the_page_is_made_of_its_code() -> None:
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    for file in sorted(OWN.glob("*.py")):
        code = file.read_text(encoding="utf-8")
        assert f"```python\n{code}```" in page, f"docs/extending.md lacks {file.name} as it is"
