"""Parity must be able to fail: a wrong graph, swapped colours, another resize. Exit code 3, nothing published."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from backends import load
from backends.model import Model
from pipeline.export import export_step
from pipeline.parity.errors import BATCH, BEYOND_ROUNDING, GRAPH, MANIFEST, PREPROCESSING
from pipeline.stages import exported, prepared, staged
from tests.examples import slow_but
from tests.tools.tiny import SAMPLE_IMAGES, Run, Tiny
from zoo.preprocess import Geometry, Preprocess

pytestmark = pytest.mark.usefixtures("no_plots")

Deploy = Callable[[Sequence[str]], Run]


def check_missed(run: Run, tiny: Tiny, words: str) -> None:
    assert run.code == 3, run.err
    assert words in run.err
    assert "nothing was published" in run.err
    assert "--allow-parity-failure" in run.err
    assert run.err.count("\n") == 1
    assert "parity: failed" in run.out
    assert not tiny.work_dir.exists()


def change_weights(monkeypatch: pytest.MonkeyPatch, change: Callable[[torch.Tensor], Any]) -> None:
    """Export another model than the one that was compared."""
    real = export_step.export_onnx

    def wrong(module: torch.nn.Module, *arguments: Any, **options: Any) -> Any:
        other = deepcopy(module)  # the model itself stays as it was: it would differ from its own run before the export
        with torch.no_grad():
            change(other.model.conv.bias)
        return real(other, *arguments, **options)

    monkeypatch.setattr(export_step, "export_onnx", wrong)


def change_manifest(monkeypatch: pytest.MonkeyPatch, **preprocess: Any) -> None:
    """Another preprocessing in the deployment than in the config."""
    real = staged.manifest

    def wrong(*arguments: Any) -> Any:
        made = real(*arguments)
        return replace(made, preprocess=replace(made.preprocess, **preprocess))

    monkeypatch.setattr(staged, "manifest", wrong)


def test_a_wrong_graph(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    change_weights(monkeypatch, lambda bias: bias[1].add_(0.05))
    check_missed(deploy(tiny.with_images()), tiny, "graph parity, one.png [1x3x64x96]: ")


def test_a_slightly_wrong_graph_at_level_decoded(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    change_weights(monkeypatch, lambda bias: bias.add_(3e-4))
    run = deploy(tiny.with_images("--output-level", "decoded"))
    check_missed(run, tiny, "graph parity, one.png [1x3x64x96]: logits: largest error 0.0003")
    assert GRAPH in run.err


def test_not_a_number(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    change_weights(monkeypatch, lambda bias: bias.fill_(float("nan")))
    check_missed(deploy(tiny.with_images("--output-level", "decoded")), tiny, "logits: NaN or infinity in the outputs")


def test_swapped_colours(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Preprocess.run

    def swapped(self: Preprocess, image: Any, out: Any) -> Geometry:
        return real(self, np.ascontiguousarray(image[:, :, ::-1]), out)

    monkeypatch.setattr(Preprocess, "run", swapped)
    check_missed(deploy(tiny.with_images()), tiny, "pipeline parity, one.png [1x3x64x96]: input: largest error")


@pytest.mark.parametrize(
    "change",
    slow_but(
        [{"resize": "stretch"}, {"interpolation": "nearest"}, {"interpolation": "area"}, {"pad_value": 0}],
        {"resize": "stretch"},
        {"interpolation": "nearest"},
    ),
    ids=str,
)
def test_another_preprocessing(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    tiny.write(SAMPLE_IMAGES + "gates = dict(pipeline=dict(pixels=1.0))\n")
    change_manifest(monkeypatch, **change)
    run = deploy(tiny.arguments())
    check_missed(run, tiny, "input: largest error")
    assert PREPROCESSING in run.err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: (c[1], c[0], *c[2:]), 'manifest: class 0 is "red" with category_id 1, the config has "dark" with'),
        (
            lambda c: (*c[:3], c[3]._replace(category_id=9)),
            'manifest: class 3 is "blue" with category_id 9, the config',
        ),
    ],
)
def test_other_classes_in_the_manifest(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any], words: str
) -> None:
    real = staged.manifest

    def wrong(*arguments: Any) -> Any:
        made = real(*arguments)
        return replace(made, classes=change(made.classes))

    monkeypatch.setattr(staged, "manifest", wrong)
    run = deploy(tiny.with_images())
    check_missed(run, tiny, words)
    assert MANIFEST in run.err


def test_the_end_to_end_comparison_alone(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """Input and engine agree, because what prepares images is wrong everywhere, and no gate looks at the input."""
    real = cv2.resize

    def nearest(image: Any, size: tuple[int, int], interpolation: int) -> Any:
        return real(image, size, interpolation=cv2.INTER_NEAREST if image.ndim == 3 else interpolation)

    monkeypatch.setattr(cv2, "resize", nearest)
    tiny.write(SAMPLE_IMAGES + "gates = dict(pipeline=dict(input_max=255, input_mean=255))\n")
    check_missed(deploy(tiny.arguments()), tiny, f": {BEYOND_ROUNDING}; nothing was published")
    assert deploy(tiny.arguments("--allow-parity-failure")).code == 0
    failures = json.loads((tiny.place / "parity.json").read_text(encoding="utf-8"))["failures"]
    assert failures
    assert all("]: end to end: " in failure for failure in failures)


def test_results_of_a_batch_in_another_order(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Model._run_batch
    monkeypatch.setattr(Model, "_run_batch", lambda *arguments: real(*arguments)[::-1])
    run = deploy(tiny.with_images())
    check_missed(run, tiny, "pipeline parity, one.png [1x3x64x96]: together: ")
    assert BATCH in run.err


def test_a_shifted_result(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Geometry.label_map_to_image
    monkeypatch.setattr(Geometry, "label_map_to_image", lambda self, m: np.roll(real(self, m), 1, axis=1))
    check_missed(deploy(tiny.with_images()), tiny, "pipeline parity, one.png [1x3x64x96]: ")


def test_nothing_to_compare(deploy: Deploy, tiny: Tiny, image_file: Callable[..., Path]) -> None:
    paths = [tiny.folder / "black.png", tiny.folder / "grey.png"]
    for number, path in enumerate(paths):
        cv2.imwrite(str(path), np.full((64, 96, 3), number * 9, np.uint8))
    run = deploy(tiny.arguments("--image", *paths))
    check_missed(run, tiny, "graph parity: nothing was compared")


def test_allowed_failure_is_published_and_says_so(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    change_weights(monkeypatch, lambda bias: bias[1].add_(0.05))
    run = deploy(tiny.with_images("--allow-parity-failure"))
    assert (run.code, run.err) == (0, "")
    assert "parity: failed-allowed" in run.out
    assert load(tiny.place).manifest.parity == {"verdict": "failed-allowed"}
    page = (tiny.place / "report.html").read_text(encoding="utf-8")
    assert "Parity missed" in page
    assert "graph parity, one.png [1x3x64x96]: " in page


@pytest.mark.usefixtures("deployment")
def test_a_missed_gate_leaves_the_old_deployment(deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in tiny.place.rglob("*") if path.is_file()}
    change_weights(monkeypatch, lambda bias: bias[1].add_(0.05))
    assert deploy(tiny.with_images()).code == 3
    assert {path: path.read_bytes() for path in tiny.place.rglob("*") if path.is_file()} == before
    assert [path.name for path in tiny.place.parent.iterdir()] == ["onnxruntime-fp32"]


def test_the_reference_runs_before_the_export_and_unpatched(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real_run, real_export = prepared.run_reference, exported.export_step

    def run(*arguments: Any) -> Any:
        assert not torch.onnx.is_in_onnx_export()
        order.append("reference")
        return real_run(*arguments)

    def export(*arguments: Any) -> Any:
        order.append("export")
        return real_export(*arguments)

    monkeypatch.setattr(prepared, "run_reference", run)
    monkeypatch.setattr(exported, "export_step", export)
    assert deploy(tiny.with_images()).code == 0
    assert order == ["reference", "export"]
