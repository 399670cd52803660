"""zooport benchmark --against the unpatched model: in eager PyTorch, and as torch exports it by itself."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from backends.benchmark import bursts
from backends.benchmark.case import Setting
from pipeline.baselines.baseline import Request
from pipeline.baselines.registry import get_baseline
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run, Tiny, TinySegmentor
from zoo.errors import BackendUnavailableError
from zoo.input_kinds import input_kind
from zoo.manifest import Manifest

pytestmark = pytest.mark.usefixtures("deployment")
Tool = Callable[[Sequence[str]], Run]
NAMES = ("pytorch", "plain-export")


@pytest.fixture
def benchmark(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setattr(bursts, "PAUSE", 0)
    return in_this_process("benchmark", capsys)


def test_the_model_and_its_plain_export(tiny: Tiny, benchmark: Tool, tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    flags = ["--against", *NAMES, "--config", tiny.config, "--rounds", 2, "--cold", 0, "--batch", 1, 2, "--workers", 2]
    run = benchmark([str(tiny.place), "--image", *map(str, [*tiny.images, *flags]), "--json", str(data)])
    assert (run.code, run.err) == (0, "")
    rows = json.loads(data.read_text(encoding="utf-8"))["rows"]
    assert [row["subject"] for row in rows] == ["pytorch"] * 2 + ["plain-export"] * 2 + [str(tiny.place)] * 2
    assert [row["compared_with"] for row in rows] == [None, 1, 1, 2, 1, 2]


def test_they_give_what_the_deployment_gives(tiny: Tiny, tmp_path: Path) -> None:
    from backends import load

    images = [input_kind("image").read(str(path)) for path in tiny.images]
    request = Request(tiny.place, Manifest.read(tiny.place), None, str(tiny.config), None, images, [1, 2], tmp_path)
    threads = torch.get_num_threads()
    with load(tiny.place) as deployment:
        expected = [result.label_map.tolist() for result in deployment(images)]
    for name in NAMES:
        for batch in (1, 2):
            with get_baseline(name).subject(request).open(Setting(1, batch)) as model:
                assert [model(image).label_map.tolist() for image in images] == expected
    torch.set_num_threads(threads)


def test_a_baseline_runs_where_the_deployment_does(tiny: Tiny, tmp_path: Path) -> None:
    manifest = replace(Manifest.read(tiny.place), provider="cuda:999")
    request = Request(tiny.place, manifest, None, str(tiny.config), None, [], [1], tmp_path)
    assert request.place("pytorch", lambda _: None) == ("pytorch", "cuda:999")
    assert get_baseline("pytorch").subject(request).name == "pytorch on cpu"
    assert get_baseline("openvino").subject(request).name == "openvino on cpu"
    assert get_baseline("onnxruntime").subject(request).name == "onnxruntime on cpu"
    assert get_baseline("pytorch").subject(replace(request, device="gpu")).name == "pytorch on cpu"
    assert get_baseline("pytorch").subject(replace(request, device="cpu")).name == "pytorch"
    with pytest.raises(BackendUnavailableError, match="device cuda:999: PyTorch finds"):
        get_baseline("pytorch").subject(replace(request, device="cuda:999"))


@pytest.mark.parametrize("name", NAMES)
def test_another_model_is_refused(tiny: Tiny, benchmark: Tool, name: str) -> None:
    other = TinySegmentor()
    torch.nn.init.zeros_(other.conv.bias)
    save_file(other.state_dict(), tiny.folder / "other.safetensors")
    flags = ["--against", name, "--config", tiny.config, "--checkpoint", tiny.folder / "other.safetensors"]
    run = benchmark([str(tiny.place), "--image", *map(str, [tiny.images[0], *flags])])
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "its weights differ" in run.err


def test_a_model_that_torch_does_not_export_is_exit_code_5(
    tiny: Tiny, benchmark: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no such operator\nand a long trace")

    monkeypatch.setattr(torch.onnx, "export", refuse)
    flags = ["--against", "plain-export", "--config", tiny.config]
    run = benchmark([str(tiny.place), "--image", *map(str, [tiny.images[0], *flags])])
    assert (run.code, run.err.count("\n")) == (5, 1)
    assert "refuses the unpatched model (RuntimeError: no such operator)" in run.err
