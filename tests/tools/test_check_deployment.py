"""tools/check_deployment.py, on what tools/deploy.py leaves."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.backends.conftest import Recipe, add_self_test, recompute, rewrite_manifest, write_deployment
from tests.backends.test_light_imports import BLOCK, ROOT
from tests.backends.test_self_test import BOXES
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run, Tiny
from zoo.manifest import SELF_TEST_FILE, Manifest
from zoo.processor import processor

Tool = Callable[[Sequence[str]], Run]
MOST_BYTES = 200_000


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Tool:
    return in_this_process("check", capsys)


@pytest.fixture
def detector(tmp_path: Path) -> Path:
    return add_self_test(write_deployment(tmp_path / "detector", Recipe()))


@pytest.mark.usefixtures("deployment")
def test_what_deploy_leaves_is_checked(check: Tool, tiny: Tiny) -> None:
    manifest = Manifest.read(tiny.place)
    assert manifest.proved_on is not None
    assert manifest.proved_on["processor"] == processor().processor
    assert manifest.self_test is not None
    assert manifest.self_test["image"] in {path.name for path in tiny.images}
    assert manifest.files[SELF_TEST_FILE]["bytes"] <= MOST_BYTES
    report = tiny.folder / "checked.json"
    run = check([str(tiny.place), "--provider", "cpu", "--threads", "2", "--json", str(report)])
    assert run.code == 0, run.err
    assert run.out.count("\n") == 1
    assert run.out.startswith(f"{tiny.place}: this machine computes what was proved on {processor()}, ")
    assert "onnxruntime 1." in run.out
    (entry,) = json.loads(report.read_text())["deployments"].values()
    (output,) = entry["outputs"]
    assert (output["output"], output["worst"], output["passed"]) == ("label_map", 0.0, True)


@pytest.mark.slow
def test_the_same_deploy_gives_the_same_bytes(deploy: Tool, tiny: Tiny) -> None:
    content = []
    for _ in range(2):
        assert deploy(tiny.with_images()).code == 0
        content.append([(tiny.place / name).read_bytes() for name in ("deployment.json", SELF_TEST_FILE)])
    assert content[0] == content[1]


def test_an_output_that_is_off(check: Tool, detector: Path, tmp_path: Path) -> None:
    report = tmp_path / "checked.json"
    run = check([str(recompute(detector, all_boxes=BOXES + 1)), "--json", str(report)])
    assert run.code == 3
    assert run.err.count("\n") == 1
    assert "boxes: off by 1 px, gate 0.05 px (4 of 4 detections beyond it)" in run.err
    written = json.loads(report.read_text())
    assert written["exit_code"] == 3
    assert [found["passed"] for found in written["deployments"][str(detector)]["outputs"]] == [False, True, True]


def test_several_folders_have_a_line_each(check: Tool, detector: Path, tmp_path: Path) -> None:
    off = recompute(add_self_test(write_deployment(tmp_path / "off", Recipe())), all_boxes=BOXES + 1)
    bare = write_deployment(tmp_path / "bare", Recipe())
    run = check([str(bare), str(off), str(detector)])
    assert run.code == 3
    lines = run.out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [str(bare), str(off), str(detector)]
    assert "carries no self-test" in lines[0]
    assert "does not compute what was proved" in lines[1]
    assert "this machine computes what was proved" in lines[2]
    assert run.err == "error: 2 of 3 deployments are not confirmed, see above\n"


def test_a_name_is_printed_as_it_is(check: Tool, tmp_path: Path) -> None:
    folder = add_self_test(write_deployment(tmp_path / "[b]\x1b[31m", Recipe()))
    run = check([str(folder)])
    assert run.code == 0, run.err
    assert r"[b]\x1b[31m: this machine computes" in run.out


def test_exit_codes_of_what_cannot_be_checked(check: Tool, detector: Path, tmp_path: Path) -> None:
    bare = write_deployment(tmp_path / "bare", Recipe())
    run = check([str(bare)])
    assert (run.code, "carries no self-test" in run.err) == (2, True)
    assert check([str(tmp_path / "nowhere")]).code == 2
    assert check([str(detector), "--threads", "0"]).code == 2
    assert check([str(detector), "--provider", "nonsense"]).code == 2
    assert check([str(rewrite_manifest(bare, backend="tensorrt"))]).code == 4
    (detector / SELF_TEST_FILE).unlink()
    run = check([str(detector)])
    assert (run.code, f"{SELF_TEST_FILE}: cannot be read" in run.err) == (2, True)


def test_it_needs_no_torch(detector: Path) -> None:
    code = f"{BLOCK}\nfrom zooport.entry import main\nsys.exit(main(['check', *sys.argv[1:]]))"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", code, str(detector)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "this machine computes what was proved" in done.stdout
