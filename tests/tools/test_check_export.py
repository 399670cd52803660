"""tools/check_export.py: what it prints, its exit codes, and processes that end or hang."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pipeline.doctor.attempt import attempt
from pipeline.doctor.diagnosis import diagnose
from pipeline.doctor.examining import observe
from pipeline.doctor.export_variant import ExportVariant
from pipeline.doctor.subject import Subject
from rewriters.symbolic import SYMBOLIC_REWRITERS
from rewriters.symbolic.kernels import KERNELS
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run, Tiny

MODELS = Path(__file__).parents[1] / "pipeline" / "doctor" / "failing_models.py"
INPUT = "x=float32[N=2,3,H=16,W=24]"


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[str]], Run]:
    """Run zooport doctor in this process; its exports run in another."""
    return in_this_process("doctor", capsys)


@pytest.mark.slow
def test_a_rewriter_is_the_cure(check: Callable[[Sequence[str]], Run], tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    done = check([f"{MODELS}:AdaptivePool", "--input", INPUT, "--exporter", "torchscript", "--json", str(path)])
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert "torchscript                  refused by the exporter" in lines
    assert "torchscript, with rewriters  right in 7 trials" in lines
    start = lines.index("adaptive-pool (torchscript)")
    assert [line.split()[0] for line in lines[start + 1 : start + 6]] == ["line", "operator", "what", "seen", "cure"]
    assert "failing_models.py" in lines[start + 1]
    assert "adaptive_avg_pool2d(x, 5)" in lines[start + 1]
    assert "  operator  aten::_adaptive_avg_pool2d" in lines
    assert "export it by torchscript, with rewriters, that is torch.nn.functional.adaptive_avg_pool2d" in done.out
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["exit_code"], found["verdict"], found["best"]) == (0, "good", "torchscript, with rewriters")


@pytest.mark.slow
def test_wrong_numbers_are_code_3(check: Callable[[Sequence[str]], Run]) -> None:
    done = check([f"{MODELS}:Branch", "--input", INPUT, "--exporter", "torchscript"])
    assert done.code == 3
    assert "torchscript                  WRONG in 2 of 7 trials: negative noise, zeros" in done.out
    assert "; negative noise: differs by" in done.out
    assert "frozen-branch (torchscript; torchscript, with rewriters; no error says so)" in done.out
    assert "if x.sum() > 0:" in done.out
    assert done.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "more", "cause", "words"),
    [
        ("Ends", [], "crash", "the process ended with code 7"),
        ("Hangs", ["--timeout", "30"], "no-end", "no result after 30 s"),
    ],
)
def test_a_process_that_ends_or_hangs_is_reported(
    check: Callable[[Sequence[str]], Run], model: str, more: list[str], cause: str, words: str
) -> None:
    """Each way has a process of its own then: the second is tried as well."""
    done = check([f"{MODELS}:{model}", "--input", INPUT, "--exporter", "torchscript", *more])
    assert done.code == 5
    for way in ("torchscript                 ", "torchscript, with rewriters "):
        assert f"{way} refused by the exporter" in done.out
    assert f"{cause} (torchscript; torchscript, with rewriters)" in done.out
    assert words in done.out


@pytest.mark.slow
def test_a_file_that_declares_rewriters_and_kernels(check: Callable[[Sequence[str]], Run]) -> None:
    before = len(SYMBOLIC_REWRITERS)
    try:
        done = check([f"{MODELS.with_name('own_operator.py')}:OwnOperator", "--input", INPUT])
    finally:
        del SYMBOLIC_REWRITERS[before:]
        KERNELS.pop("doctortest::TwoA", None)
    assert done.code == 0, done.out
    for way in ("dynamo", "torchscript"):
        assert f"{way + ', with rewriters':28} right in 7 trials" in done.out
    assert "torchscript                  refused by the exporter" in done.out


@pytest.mark.slow
def test_python_has_no_semaphores_to_warn_of() -> None:
    command = [sys.executable, "-m", "zooport", "doctor", f"{MODELS}:Good", "--input", INPUT, "--exporter", "dynamo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_config_is_tried_on_its_own_images_plain_and_with_rewriters(voc: Tiny) -> None:
    loaded = Subject(str(voc.config)).load()
    assert [trial.label for trial in loaded.trials] == ["images", "other images", "batch=3"]
    assert {name: list(tensor.shape) for name, tensor in loaded.trials[0].feed.items()} == {"images": [2, 3, 64, 96]}
    assert loaded.axes == {"images": {0: "batch"}}
    assert not loaded.trials[0].feed["images"].equal(loaded.trials[1].feed["images"])
    watched, sights, tested = observe(loaded)
    ways = [ExportVariant("torchscript", rewriters, loaded.target.opset) for rewriters in (False, True)]
    report = diagnose([attempt(loaded, way) for way in ways], watched, sights, tested)
    assert [one.good for one in report.attempts] == [True, True]
    assert [len(one.runs) for one in report.attempts] == [3, 3]
    assert report.attempts[0].way.opset == 17


def test_a_config_without_its_weights_is_one_line(check: Callable[[Sequence[str]], Run], voc: Tiny) -> None:
    (voc.folder / "tiny.safetensors").unlink()
    done = check([str(voc.config)])
    assert done.code == 2
    assert "tiny.safetensors" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.slow
def test_a_shipped_config(check: Callable[[Sequence[str]], Run]) -> None:
    """torchvision's detectors: dynamo asks how many boxes there are, torchscript freezes the batch."""
    done = check(["configs/detection/ssdlite_r18-fpn_digits.py"])
    assert done.code == 0, done.out
    assert "data-dependent-nms (dynamo)" in done.out
    assert "batch-as-list (torchscript; no error says so)" in done.out
    last = done.out.splitlines()[-1]
    assert last.startswith("export it by dynamo, with rewriters, that is ")
    assert "torchvision.SSD.forward" in last


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["model.py:Net"], "model.py:Net: give its inputs"),
        (["configs/no.py"], "config configs/no.py: no such file"),
        ([str(MODELS)], "for a model of this file give FILE.py:NAME"),
        ([f"{MODELS}:Raises", "--input", INPUT], "the model does not run in PyTorch on x [2, 3, 16, 24]: RuntimeError"),
        (["configs/no.py", "--input", INPUT], "a config has its own inputs"),
        (["model.py:Net", "--exporter", "onnx"], 'unknown exporter "onnx"'),
        (["model.py:Net", "--opset", "3"], "--opset 3: expected 17 to 26"),
        ([""], '"": give FILE.py:NAME, or a config'),
        (["", "--input", INPUT], '"": give FILE.py:NAME, or a config'),
        ([f"{MODELS}:", "--input", INPUT], 'failing_models.py:": give FILE.py:NAME'),
        ([str(MODELS), "--input", INPUT], "failing_models.py: give FILE.py:NAME for a model"),
        (["model.py:Net", "--timeout", "0"], "--timeout 0.0: expected seconds"),
        (["model.py:Net", "--timeout", "inf"], "--timeout inf: expected seconds, 1 to 86400"),
        (["model.py:Net", "--timeout", "nan"], "--timeout nan: expected seconds"),
    ],
)
def test_a_mistake_is_one_line(check: Callable[[Sequence[str]], Run], arguments: list[str], words: str) -> None:
    done = check(arguments)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1
