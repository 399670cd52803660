"""Each failure class is recognised: its cause, the line or operator at fault, and what cures it where we can."""

import functools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.doctor.attempt import Attempt, Ran, attempt
from pipeline.doctor.diagnosis import diagnose
from pipeline.doctor.difference import Difference, difference, eager_outputs
from pipeline.doctor.examining import observe
from pipeline.doctor.example import CONTENTS
from pipeline.doctor.export_variant import ExportVariant
from pipeline.doctor.report import Finding, Report, verdict
from pipeline.doctor.subject import Subject
from zoo.errors import InputError

MODELS = Path(__file__).with_name("failing_models.py")
INPUT = "x=float32[N=2,3,H=16,W=24]"
TORCHSCRIPT = [
    # model, cause, words of the line at fault, words of the cure, exit codes: plain, with rewriters if that differs
    ("Good", "", "", "", (0,)),
    ("Known", "", "", "", (0,)),
    ("ScriptedFunctions", "", "", "", (0, 0)),
    ("Branch", "frozen-branch", "if x.sum() > 0:", "torch.jit.script", (3,)),
    ("BranchOfMax", "frozen-branch", "if x.max() > 0:", "torch.jit.script", (3,)),
    ("WhileOfMax", "frozen-loop", "while x.abs().max()", "as one batch", (3,)),
    ("EarlyReturn", "constant-output", "if found.numel() == 0:", "main path", (5,)),
    ("NoBoxes", "constant-output", "torchvision.ops.nms(", "an image with objects", (3, 5)),
    ("SizeBranch", "frozen-branch", "if x.shape[2] > 20:", "torch.where", (3,)),
    ("Windows", "frozen-loop", "for top in range(", "zoo.EncoderDecoder.slide_inference", (3,)),
    ("Windows", "slice-assignment", "total[:, :, top : top + 4] +=", "zoo.EncoderDecoder.slide_inference", (3,)),
    ("Pillars", "unique", "torch.unique(cells", "zoo.PillarEncoder.forward", (3,)),
    ("Pillars", "masked-rows", "points[points[:, 0] > -1]", "counts nowhere", (3,)),
    ("CountedRows", "frozen-count", "[: int(count)]", "torch.arange(count) < n", (3,)),
    ("EachImage", "batch-as-list", "for image in images", "torchvision.GeneralizedRCNN.forward", (3,)),
    ("IntSize", "baked-number", "tuple(int(side)", "without int()", (3,)),
    ("Item", "baked-number", "x.max().item()", "x * x.max()", (3,)),
    ("Stride", "other-path", "", "the other exporter", (3,)),
    ("Linspace", "baked-number", "x.max().item()", "x * x.max()", (3,)),
    ("TensorOfSize", "baked-tensor", "torch.tensor([x.shape[2]", "torch.stack", (3,)),
    ("TopK", "size-limit", "min(2000", "dynamo", (3,)),
    ("Ties", "ties", "topk(20)", "as sets", (3,)),
    ("Numpy", "through-numpy", "x.numpy()", "torch's operators", (3,)),
    ("Asinh", "unsupported-operator", "torch.asinh(x)", "symbolic rewriter aten::asinh", (5, 0)),
    ("Antialias", "antialias", "antialias=True", "torch.nn.functional.interpolate", (5, 0)),
    ("AdaptivePool", "adaptive-pool", "adaptive_avg_pool2d(x, 5)", "torch.nn.functional.adaptive_avg_pool2d", (5, 0)),
    ("StableSort", "stable-sort", "stable=True", "symbolic rewriter aten::sort.stable", (5, 0)),
    ("DeformConv", "deform-conv", "deform_conv2d(x, offset", "symbolic rewriter torchvision::deform_conv2d", (5, 0)),
    ("PsRoiAlign", "ps-roi-align", "ps_roi_align(", "symbolic rewriter torchvision::ps_roi_align", (5, 0)),
    ("LongRoll", "other-numbers", "torch.roll(x, 30", "symbolic rewriter aten::roll", (3, 0)),
    ("Double", "no-kernel", "torch.erf(x.double())", "compute in float32", (5,)),
    ("PartialForward", "partial-forward", "", "dynamo", (5,)),
    ("ScriptedModule", "script-module", "self.part(x)", "compile a function instead", (5,)),
    ("Attention", "attention-fast-path", "", "torch.MultiheadAttention.forward", (5, 0)),
]
DYNAMO = [
    # model, cause, words of the line at fault, opset
    ("Branch", "data-dependent", "if x.sum() > 0:", 20),
    ("BatchedNms", "data-dependent-nms", "batched_nms(", 20),
    ("StableSort", "stable-sort", "stable=True", 20),
    ("PsRoiAlign", "ps-roi-align", "ps_roi_align(", 20),
    ("RoiPool", "roi-pool", "roi_pool(", 20),
    ("Windows", "frozen-loop", "for top in range(", 20),
    ("Windows", "slice-assignment", "total[:, :, top : top + 4] +=", 20),
    ("FixedAxis", "fixed-axis", "", 20),
    ("GivesSize", "python-output", "", 20),
    ("SymbolicMethod", "symbolic-method", "x.numpy()", 20),
    ("Antialias", "opset-too-low", "", 17),
    ("DeformConv", "opset-too-low", "", 17),
]


@functools.cache
def examined(name: str, *ways: ExportVariant, text: str = INPUT) -> Report:
    """In this process."""
    subject = Subject(f"{MODELS}:{name}", (text,))
    watched, sights, tested = observe(subject.load())
    return diagnose([attempt(subject.load(), way) for way in ways], watched, sights, tested)


def finding(report: Report, cause: str) -> Finding:
    found = [finding for finding in report.findings if finding.cause.name == cause]
    assert found, [finding.cause.name for finding in report.findings]
    return found[0]


class OwnGradients(torch.nn.Module):
    """Its result carries a gradient, whatever the caller says."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            result: torch.Tensor = self.layer(x)
        return result


def test_a_result_that_carries_a_gradient_is_compared() -> None:
    (numbers,) = eager_outputs(OwnGradients(), {"x": torch.ones(2, 8)})
    assert numbers.shape == (2, 2)
    assert not Attempt(ExportVariant("torchscript", True, 20)).good, "nothing was compared"


@pytest.mark.parametrize(("name", "cause", "code", "cure", "exit_codes"), TORCHSCRIPT)
def test_torchscript(name: str, cause: str, code: str, cure: str, exit_codes: tuple[int, ...]) -> None:
    ways = [ExportVariant("torchscript", rewriters, 20) for rewriters in (False, True)[: len(exit_codes)]]
    report = examined(name, *ways)
    assert tuple(Report((one,), ()).exit_code for one in report.attempts) == exit_codes, report.attempts
    if not cause:
        assert not [finding for finding in report.findings if report.harmful(finding)]
        return
    found = finding(report, cause)
    assert report.harmful(found)
    assert cause == "size-limit" or "size-limit" not in [one.cause.name for one in report.findings]
    assert (found.place is None) == (code == "")
    assert found.place is None or code in found.place.code
    assert cure in found.cure


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cause", "code", "opset"), DYNAMO)
def test_dynamo(name: str, cause: str, code: str, opset: int) -> None:
    text = "x=float32[N=2,3,H=2000,W=8]" if name == "BatchedNms" else INPUT  # few boxes are exported
    report = examined(name, ExportVariant("dynamo", rewriters=False, opset=opset), text=text)
    assert report.exit_code
    place = finding(report, cause).place
    assert code == "" or (place is not None and code in place.code)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ([1.0, -4.0], [1.0, -4.5], 0.125),
        ([1, 2, 3, 4], [1, 2, 3, 5], 0.25),
        ([float("nan"), 1.0], [float("nan"), 1.0], 0.0),
        ([float("nan"), 1.0], [0.0, 1.0], float("inf")),
        ([1.0], [1.0, 2.0], float("inf")),
        ([1.0], [1], float("inf")),
    ],
)
def test_how_far_two_outputs_are(one: list[float], two: list[float], expected: float) -> None:
    assert difference([np.array(one)], [np.array(two)]).part == expected
    assert difference([np.array(one)], []).part == float("inf")


def test_the_worst_output_is_the_one_that_is_furthest_beyond_what_its_dtype_allows() -> None:
    half, single = np.float16([1, 2]), np.float32([1, 2])
    found = difference([half, single], [half + np.float16(0.02), single + np.float32(0.001)])
    assert (round(found.part, 6), found.allowed, found.good) == (0.0005, 1e-4, False)
    assert difference([half], [half + np.float16(0.02)]).good
    assert not difference([half], [half + np.float16(0.2)]).good


@pytest.mark.slow
def test_dynamo_leaves_paths_of_this_machine_and_our_export_does_not() -> None:
    report = examined("Good", *(ExportVariant("dynamo", rewriters, 20) for rewriters in (False, True)))
    assert report.exit_code == 0
    assert [str(way) for way in finding(report, "local-paths").ways] == ["dynamo"]


def test_parts_that_are_scattered_are_slow_and_right() -> None:
    text = "x=float32[2,3,H=16,W=24]"
    report = examined("Levels", ExportVariant("torchscript", rewriters=False, opset=20), text=text)
    found = finding(report, "scattered-parts")
    assert found.cause.slow
    assert found.place is not None
    assert "self.pool(" in found.place.code
    assert "torchvision.MultiScaleRoIAlign.forward" in found.cure
    assert report.exit_code == 0


def test_a_grid_of_volumes_needs_opset_20() -> None:
    report = examined("Grid5D", *(ExportVariant("torchscript", rewriters=False, opset=opset) for opset in (17, 20)))
    assert "20" in finding(report, "grid-sample-5d").cause.cure
    assert report.attempts[1].good


def test_a_rewriter_that_refuses_is_not_proposed() -> None:
    report = examined("DeformConv", *(ExportVariant("torchscript", rewriters, 17) for rewriters in (False, True)))
    assert all(one.error for one in report.attempts)
    assert not [one.rewriter for one in report.findings if one.rewriter]
    assert "give --opset 20" in finding(report, "opset-too-low").cure


def test_a_rewriter_that_was_on_is_not_the_cure_of_wrong_numbers() -> None:
    loaded = Subject(f"{MODELS}:LongRoll", (INPUT,)).load()
    watched, sights, tested = observe(loaded)
    way = ExportVariant("torchscript", rewriters=True, opset=20)
    wrong = Attempt(way, runs=(Ran("noise", "", Difference(1.0)),), fired=("aten::roll",))
    assert finding(diagnose([wrong], watched, sights, tested), "other-numbers").rewriter == ""
    plain = replace(wrong, way=replace(way, rewriters=False), fired=())
    assert finding(diagnose([plain, wrong], watched, sights, tested), "other-numbers").rewriter == ""
    right = replace(wrong, runs=(Ran("noise", ""),))
    assert finding(diagnose([plain, right], watched, sights, tested), "other-numbers").rewriter == "aten::roll"


@pytest.mark.parametrize("name", ["Deep", "PartlyBrainFloat"])
def test_the_first_module_that_differs_is_named(name: str) -> None:
    report = examined(name, ExportVariant("torchscript", rewriters=False, opset=17))
    assert report.attempts[0].module == "middle"
    assert "the first module that differs: middle" in finding(report, "baked-number").why


def test_a_module_with_a_folded_norm_is_not_named() -> None:
    report = examined("Normed", ExportVariant("torchscript", rewriters=False, opset=18))
    assert report.attempts[0].module == "last"


def test_a_model_in_float16_is_compared_as_one() -> None:
    way = ExportVariant("torchscript", rewriters=False, opset=18)
    assert examined("Half", way, text="x=float16[2,3,16,24]").exit_code == 0


def test_sizes_without_a_name_are_not_tried() -> None:
    report = examined(
        "SizeBranch", ExportVariant("torchscript", rewriters=False, opset=17), text="x=float32[2,3,16,24]"
    )
    assert report.exit_code == 0
    assert [run.label for run in report.attempts[0].runs] == list(CONTENTS)
    assert not [finding for finding in report.findings if report.undecided(finding)]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("FarBranch", "x=float32[2,3,16,24]", "if y > 1000:"),
        ("FarSize", INPUT, "if x.shape[2] > 1000:"),
        ("FewFound", "x=float32[2,3,16,24]", "if found.numel() == 0:"),
    ],
)
def test_a_branch_that_no_trial_takes_is_undecided_and_not_harmless(name: str, text: str, code: str) -> None:
    report = examined(name, ExportVariant("torchscript", rewriters=False, opset=17), text=text)
    found = finding(report, "frozen-branch")
    assert report.undecided(found)
    assert found.place is not None
    assert found.place.code == code
    assert (report.exit_code, report.data["verdict"]) == (0, "undecided")
    assert verdict(report.attempts[0], report.open_in(report.attempts[0])).endswith("do not decide 1 of its lines")


def test_equal_scores_of_a_trial_say_nothing_of_the_export() -> None:
    report = examined("TiesAtZero", ExportVariant("torchscript", rewriters=False, opset=17), text="x=float32[1,70]")
    assert report.exit_code == 0


@pytest.mark.parametrize("text", ["n=int64[]", "n=int64[1]"])
def test_whole_numbers_without_axes_are_tried_with_others(text: str) -> None:
    report = examined("Turns", ExportVariant("torchscript", rewriters=False, opset=17), text=text)
    assert report.exit_code == 3
    assert report.harmful(finding(report, "frozen-loop"))


def test_a_model_that_does_not_run_is_one_line() -> None:
    loaded = Subject(f"{MODELS}:Raises", (INPUT,)).load()
    with pytest.raises(InputError) as raised:
        observe(loaded)
    assert "the model does not run in PyTorch on x [2, 3, 16, 24]: RuntimeError:" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_too_few_inputs_are_the_users() -> None:
    loaded = Subject(f"{MODELS}:Good", (INPUT, "y=float32[2]")).load()
    with pytest.raises(InputError, match="takes 2 positional arguments but 3 were given"):
        observe(loaded)


def test_a_file_with_a_dataclass_and_an_import_in_forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "beside_the_model.py").write_text("OFFSET = 1\n", encoding="utf-8")
    path = tmp_path / "model.py"
    path.write_text(
        "from __future__ import annotations\n"
        "import sys\n"
        "from dataclasses import dataclass\n"
        "import torch\n"
        "sys.path.insert(0, '/a/folder/of/the/model')\n"
        "@dataclass\n"
        "class Settings:\n"
        "    scale: int = 2\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        from beside_the_model import OFFSET\n"
        "        return x * Settings().scale + OFFSET\n",
        encoding="utf-8",
    )
    loaded = Subject(f"{path}:Net", ("x=float32[2]",)).load()
    observe(loaded)
    assert attempt(loaded, ExportVariant("torchscript", rewriters=False, opset=17)).good


WRONG = [
    (f"{MODELS}:Good", "x=float32", "expected NAME=DTYPE[SIZE,...]"),
    (f"{MODELS}:Good", "x=float23[2]", 'unknown dtype "float23"; nearest: "float32"'),
    (f"{MODELS}:Good", "x=float32[2:3]", '"2:3" is not SIZE, NAME=SIZE or NAME=SIZE:OTHER'),
    (f"{MODELS}:Goood", INPUT, 'has no "Goood"; nearest: "Good"'),
    (f"{MODELS}:functools", INPUT, "cannot be made without arguments"),
    (f"{MODELS}:Needs", INPUT, "cannot be made without arguments: TypeError: Needs.__init__() missing 1 required"),
    (f"{MODELS}:F", INPUT, "cannot be made without arguments"),
    (f"{MODELS}:Good", "x=float32[99999999,99999999]", "give smaller sizes"),
    (f"{MODELS}:Good", "x=float32[N=2,N=3]", "axis N is 3 here and 2 before"),
    (f"{Path(__file__).parents[3]}/README.md:Net", INPUT, "not a Python file"),
    ("no.py:Good", INPUT, "no.py: no such file; give FILE.py:NAME"),
]


@pytest.mark.parametrize(("subject", "text", "words"), WRONG)
def test_a_mistake_is_one_line(subject: str, text: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        Subject(subject, (text,)).load()
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_dynamo_does_not_freeze_a_batch_of_one() -> None:
    """With torch 2.15; export_onnx asks for two all the same."""
    report = examined("Good", ExportVariant("dynamo", rewriters=False, opset=20), text="x=float32[N=1,3,H=16,W=24]")
    assert report.exit_code == 0
    assert "N=2" in [run.label for run in report.attempts[0].runs]
