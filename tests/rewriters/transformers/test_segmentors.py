"""Segmentors of transformers by both exporters: another batch, other sizes, OpenVINO, and an engine."""

from importlib import import_module
from pathlib import Path

import onnx
import pytest

from tests.rewriters.ops.exported import NOT_FOR_TENSORRT, operators
from tests.rewriters.segmentor_graphs import HEIGHT, WIDTH, assert_in_both, assert_logits, export_logits, target_of
from tests.rewriters.small_models import without_rewriter
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from tests.small_transformers_segmentors import built
from zoo.errors import ExportError
from zoo.target import AxisRange

pytest.importorskip("transformers", reason="needs the extra transformers")
pytestmark = pytest.mark.libraries

MASKS = ("maskformer", "mask2former", "oneformer")
ONE_SIZE = (*MASKS, "mobilevitv2")  # by dynamo
NAMES = ("segformer", "upernet", "mobilevit", *ONE_SIZE)
CASES = ((1, (HEIGHT, WIDTH)), (3, (HEIGHT, WIDTH)), (2, (160, 128)), (1, (75, 101)), (2, (72, 104)))
ON_EVERY_RUN = ("segformer", "mobilevit", "mobilevitv2", "maskformer")
CELLS = [
    pytest.param(name, exporter, marks=() if quick else pytest.mark.slow)
    for name in NAMES
    for exporter in ("torchscript", "dynamo")
    for quick in [exporter == "torchscript" and name in ON_EVERY_RUN]
    if exporter == "torchscript" or name not in ONE_SIZE
]


@pytest.mark.parametrize(("name", "exporter"), CELLS)
def test_one_file_at_every_batch_and_size(name: str, exporter: str, tmp_path: Path) -> None:
    model, path = built(name, tmp_path), tmp_path / "m.onnx"
    export_logits(model, target_of("dynamic", exporter), path, other_sizes=False)
    assert_in_both(model, path, CASES)


@pytest.mark.parametrize("name", ONE_SIZE)
def test_a_dynamic_size_is_refused_by_dynamo(name: str, tmp_path: Path) -> None:
    words = f"(?i){name}For.*Segmentation by dynamo needs a fixed height and width, .*; give --exporter torchscript, or"
    with pytest.raises(ExportError, match=words) as caught:
        export_logits(built(name, tmp_path), target_of("dynamic", "dynamo"), tmp_path / "m.onnx")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "m.onnx").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_SIZE)
def test_dynamo_at_a_fixed_size(name: str, tmp_path: Path) -> None:
    model, path = built(name, tmp_path), tmp_path / "m.onnx"
    export_logits(model, target_of("fixed", "dynamo"), path, other_sizes=False)
    assert_in_both(model, path, CASES[:2])


@pytest.mark.parametrize("exporter", ["torchscript", pytest.param("dynamo", marks=pytest.mark.slow)])
def test_a_dpt_at_its_size(exporter: str, tmp_path: Path) -> None:
    model, path = built("dpt", tmp_path), tmp_path / "m.onnx"
    target = target_of("fixed", exporter).with_(width=AxisRange.fixed(HEIGHT))
    export_logits(model, target, path)
    assert_in_both(model, path, [(1, (HEIGHT, HEIGHT)), (3, (HEIGHT, HEIGHT))])


@pytest.mark.slow
def test_oneformer_has_no_operator_whose_size_depends_on_the_data(tmp_path: Path) -> None:
    model, path = built("oneformer", tmp_path), tmp_path / "m.onnx"
    export_logits(model, target_of("fixed"), path, other_sizes=False)
    assert not set(operators(onnx.load(path).graph)) & NOT_FOR_TENSORRT
    with without_rewriter("transformers.OneFormerTransformerDecoderLayer.forward"):
        export_logits(model, target_of("fixed"), path, other_sizes=False)
    assert "NonZero" in operators(onnx.load(path).graph)


@pytest.mark.tensorrt
@needs_rtx
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_tensorrt_rtx_takes_the_file(name: str, tmp_path: Path) -> None:
    model, path = built(name, tmp_path), tmp_path / "m.onnx"
    export_logits(model, target_of("fixed", backend="tensorrt-rtx"), path, other_sizes=False)
    assert_logits(model, path, CASES[:2])
    assert rtx_engine(path, 1, 2, 3, seconds=1200).layers


STOPS = (ExportError, "ONNX Runtime stopped")
OTHER_NUMBERS = (AssertionError, r"\(1, 75, 101\)")
NEEDED = [
    ("transformers.MobileViTLayer.unfolding", "mobilevit", *STOPS),
    ("transformers.MaskFormerSwinPatchEmbeddings.maybe_pad", "maskformer", *OTHER_NUMBERS),
    ("transformers.MaskFormerSwinPatchMerging.maybe_pad", "maskformer", *STOPS),
    ("transformers.MaskFormerSwinLayer.maybe_pad", "maskformer", *STOPS),
]


@pytest.mark.slow
@pytest.mark.parametrize(("rewriter", "name", "fault", "words"), NEEDED)
def test_needed_without_it_the_file_fails_or_is_wrong_at_another_size(
    rewriter: str, name: str, fault: type[Exception], words: str, tmp_path: Path
) -> None:
    model, path = built(name, tmp_path), tmp_path / "m.onnx"
    import_module("rewriters.transformers")  # which an export would import, too late
    with without_rewriter(rewriter):
        export_logits(model, target_of("dynamic"), path, other_sizes=False)
    with pytest.raises(fault, match=words):
        assert_logits(model, path, [(1, (75, 101))])
