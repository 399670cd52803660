"""Slide inference on the host through the tools: deployed, proved, evaluated, predicted, refused."""

from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
from safetensors.torch import save_file

from backends import load
from pipeline.parity.gates import GRAPH
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import small_segmentor
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run, Tiny
from zoo.manifest import Manifest

pytestmark = pytest.mark.usefixtures("no_plots")

Tool = Callable[[Sequence[str]], Run]

MODEL = """
model = dict(
    type="EncoderDecoder",
    backbone=dict(type="ResNet18", base_channels=2, strides=(1, 2, 1, 1), dilations=(1, 1, 2, 4)),
    decode_head=dict(type="FCNHead", in_channels=[2, 16], in_index=[0, 3], channels=4, num_classes=4),
    test_cfg=dict(mode="slide", crop_size=(32, 48), stride=(20, 32), blend="gaussian"),
)
"""
SLIDE = 'export["rewriters"] = ["zoo.EncoderDecoder.slide_inference"]\n'


@pytest.fixture
def slide(tiny: Tiny) -> Tiny:
    """The tiny config with a segmentor that slides; the config requires the rewriter of the other form."""
    tiny.write(MODEL + SLIDE)
    model = small_segmentor(classes=4, crop_size=(32, 48), stride=(20, 32), blend="gaussian")
    save_file(model.state_dict(), tiny.folder / "tiny.safetensors")
    return tiny


@pytest.fixture
def predict(capsys: pytest.CaptureFixture[str]) -> Tool:
    return in_this_process("predict", capsys)


@pytest.mark.slow
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_both_forms_are_deployed_and_agree(slide: Tiny, deploy: Tool, exporter: str) -> None:
    arguments = slide.with_images("--exporter", exporter, "--opset", 18)
    host = deploy([*arguments, "--slide", "host", "--window-batch", "3"])
    graph = deploy(arguments)
    assert (host.code, host.err, graph.code) == (0, "", 0)
    places = {place.name: place for place in slide.place.parent.iterdir()}
    (cut,) = (place for name, place in places.items() if name.endswith("-host-windows3"))
    manifest = Manifest.read(cut)
    assert manifest.windows is not None
    assert manifest.windows.to_dict() == {"crop_size": [32, 48], "stride": [20, 32], "blend": "gaussian", "batch": 3}
    assert [spec.shape for spec in (*manifest.inputs, *manifest.outputs)] == [("batch", 3, 64, 96), ("batch", 64, 96)]
    assert "windows of 32x48 every 20x32 pixels" in (cut / "report.html").read_text(encoding="utf-8")
    others = [place for place in places.values() if place != cut]
    with load(cut) as one, load(others[0]) as other:
        image = cv2.imread(str(slide.images[0]))
        np.testing.assert_array_equal(one(image).label_map, other(image).label_map)
        assert [result.label_map.shape for result in one([image, image, image])] == [image.shape[:2]] * 3


@pytest.mark.slow
def test_logits_of_both_forms(slide: Tiny, deploy: Tool) -> None:
    for more in ([], ["--slide", "host"]):
        assert deploy(slide.with_images("--output-level", "decoded", *more)).code == 0
    images = np.random.default_rng(0).random((2, 3, 64, 96), np.float32)
    found = []
    for place in sorted(slide.place.parent.iterdir()):
        with load(place) as model:
            found.append(model.runner.run({"images": images})["logits"])
    np.testing.assert_allclose(found[1], found[0], atol=GRAPH["logits"] * np.ptp(found[0]), rtol=0)


def test_an_image_of_any_size_with_progress(slide: Tiny, deploy: Tool, predict: Tool, tmp_path: Path) -> None:
    sizes = ["--dynamic", "height=32:64:5000", "width=48:96:5000"]
    assert deploy(slide.with_images("--slide", "host", *sizes)).code == 0
    (place,) = slide.place.parent.iterdir()
    large = tmp_path / "large.png"
    cv2.imwrite(str(large), np.random.default_rng(0).integers(0, 255, (150, 300, 3)).astype(np.uint8))
    out = tmp_path / "found"
    run = predict([str(place), "--image", str(large), *map(str, slide.images), "--out", str(out), "--draw"])
    assert (run.code, run.err) == (0, "")
    windows = 8 * 10  # of 160x320 pixels, the image padded to multiples of 32
    assert f"{large}: {windows}/{windows} windows" in run.out
    label_map = cv2.imread(str(out / "large.png"), cv2.IMREAD_UNCHANGED)
    assert label_map.shape == (150, 300)
    with load(place) as model:
        np.testing.assert_array_equal(label_map, model(cv2.imread(str(large))).label_map)
    assert sorted(path.name for path in out.iterdir()) == sorted(
        f"{name}{ending}" for name in ("large", "one", "two") for ending in (".png", "_drawn.png")
    )


@pytest.mark.slow
def test_evaluated_and_deployed_again_only_where_the_form_changes(slide: Tiny, voc: Tiny, evaluate: Tool) -> None:
    assert slide.folder == voc.folder
    text = voc.config.read_text(encoding="utf-8") + MODEL + 'export["slide"] = "host"\n'
    voc.config.write_text(text, encoding="utf-8")
    arguments = [str(voc.config), "--backend", "pytorch", "onnxruntime", "--work-dir", str(voc.work_dir)]
    run = evaluate(arguments)
    assert (run.code, run.err) == (0, "")
    made = (voc.place / "deployment.json").stat().st_ino
    assert evaluate(arguments).code == 0
    assert (voc.place / "deployment.json").stat().st_ino == made
    for more, batch in (('export["window_batch"] = 2\n', 2), ('export["slide"] = "graph"\n', None)):
        voc.config.write_text(text + more, encoding="utf-8")
        assert evaluate(arguments).code == 0
        windows = Manifest.read(voc.place).windows
        assert (windows and windows.batch) == batch


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--slide", "hots"], 'unknown slide "hots"; '),
        (["--slide", "host", "--output-level", "raw"], "slide host with output level raw"),
        (
            ["--slide", "host", "--precision", "fp16", "--half-io", "--allow-parity-failure"],
            "slide host with fp16 inputs and outputs: the host cuts and joins windows in float32; leave out one of",
        ),
        (["--slide", "host", "--window-batch", "0"], "window_batch 0: expected a number of windows"),
        (["--slide", "host", "--dynamic", "height=20:64:100"], "give --dynamic height=32:64:100"),
    ],
)
def test_refused(slide: Tiny, deploy: Tool, more: list[str], message: str) -> None:
    run = deploy(slide.with_images(*more))
    assert run.code == 2
    assert message in run.err
    assert run.err.count("\n") == 1
    assert not slide.place.parent.exists() or not list(slide.place.parent.iterdir())


@pytest.mark.parametrize("more", [["--slide", "host"], ["--window-batch", "4"]])
def test_a_model_without_windows_is_refused(tiny: Tiny, deploy: Tool, more: list[str]) -> None:
    run = deploy(tiny.with_images(*more))
    assert run.code == 2
    assert f"{' '.join(more).removeprefix('--').replace('-', '_')}: TinySegmentor has no sliding windows" in run.err


@pytest.mark.slow
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_fixed_batch_of_images(slide: Tiny, deploy: Tool, exporter: str, batch: int) -> None:
    """The windows' own batch is another matter; images that do not fill a batch run, too."""
    sizes = ["--dynamic", f"batch={batch}:{batch}:{batch}", "--exporter", exporter, "--opset", "18"]
    run = deploy(slide.with_images("--slide", "host", *sizes))
    assert (run.code, run.err) == (0, "")
    (place,) = slide.place.parent.iterdir()
    with load(place) as model:
        assert len(model([cv2.imread(str(slide.images[0]))] * 3)) == 3
