"""A whole deploy, of a tiny model: what is published, what is printed, and that it is the same on every run."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest

from backends import load
from pipeline import deploy as deploy_from_python
from tests.tools.tiny import SAMPLE_IMAGES, SIZE, Run, Tiny
from zoo.errors import InputError

Deploy = Callable[[Sequence[str]], Run]

PUBLISHED = ["deployment.json", "model.onnx", "parity.json", "previews", "report.html", "self_test.npz"]
SCRIPT = Path(__file__).parent / "deploy_tiny.py"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_published(deployed: tuple[Tiny, Run]) -> None:
    tiny, run = deployed
    assert (run.code, run.err) == (0, "")
    assert names(tiny.place) == PUBLISHED
    assert names(tiny.place.parent) == ["onnxruntime-fp32"]
    assert names(tiny.place / "previews") == ["01-one.png", "02-two.png"]
    assert f"deployment: {tiny.place}\n" in run.out
    assert run.out.splitlines()[-1] == f"previews:   {tiny.place / 'previews'}"
    assert "parity: passed" in run.out
    assert "label margin" in run.out
    image = cv2.imread(str(tiny.images[0]))
    with load(tiny.place) as model:
        assert model.manifest.parity == {"verdict": "passed"}
        expected = np.argmax(np.dstack((np.full(SIZE, 0.4 * 255), image[:, :, ::-1])), axis=2)
        assert np.array_equal(model(image).label_map, expected)


def test_previews_show_both_sides_with_titles(deployed: tuple[Tiny, Run]) -> None:
    tiny, _ = deployed
    preview = cv2.imread(str(tiny.place / "previews" / "01-one.png"))
    assert preview.shape[1] >= 2 * SIZE[1]
    left, right = preview[28:, : SIZE[1]], preview[28:, -SIZE[1] :]
    assert np.array_equal(left, right)
    assert (preview[:28] != 255).any()


def test_the_report_stands_alone(deployed: tuple[Tiny, Run]) -> None:
    tiny, _ = deployed
    page = (tiny.place / "report.html").read_text(encoding="utf-8")
    assert "Parity passed" in page
    assert page.count('src="data:image/webp;base64,') == 4
    for title in ("PyTorch", "onnxruntime"):
        assert page.count(f'alt="one.png, {title}: ') == 1
    assert page.count("<b>difference</b>: none, all ") == 2
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not any(link in markup for link in ('src="http', 'href="http', "<link", "@import", "url("))
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    manifest = json.loads((tiny.place / "deployment.json").read_text(encoding="utf-8"))
    assert manifest["files"]["model.onnx"]["sha256"] in page
    assert len(page) < 3_000_000


def test_names_from_outside_are_escaped_in_the_report(deploy: Deploy, tiny: Tiny) -> None:
    evil = tiny.folder / "<script>alert(1)<"
    shutil.copy(tiny.images[0], evil)
    assert deploy(tiny.arguments("--image", evil, tiny.images[1])).code == 0
    page = (tiny.place / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert names(tiny.place / "previews") == ["01-script-alert-1.png", "02-two.png"]


def test_parity_json_has_every_case_and_what_varies(deployed: tuple[Tiny, Run]) -> None:
    tiny, _ = deployed
    text = (tiny.place / "parity.json").read_text(encoding="utf-8")
    content = json.loads(text)
    assert text == json.dumps(content, indent=2, sort_keys=True) + "\n"
    assert content["verdict"] == "passed"
    shapes = [case["shape"] for case in content["cases"] if case["kind"] == "graph"]
    assert shapes == [[1, 3, *SIZE], [1, 3, *SIZE], [2, 3, *SIZE], [4, 3, *SIZE], [1, 3, *SIZE]]
    assert [case["images"] for case in content["cases"]][len(shapes) - 1] in (
        ["one.png (self-test)"],
        ["two.png (self-test)"],
    )
    assert [case["images"] for case in content["cases"] if case["kind"] == "pipeline"] == [["one.png"], ["two.png"]]
    assert content["export"]["seconds"] > 0
    assert content["export"]["peak_memory_bytes"] > 0


def test_json_holds_what_was_printed(deployed: tuple[Tiny, Run]) -> None:
    tiny, _ = deployed
    content = json.loads((tiny.folder / "out.json").read_text(encoding="utf-8"))
    assert content["exit_code"] == 0
    assert content["deployment"] == str(tiny.place)
    assert content["previews"][0].endswith("previews/01-one.png")
    assert content["parity"]["summary"]["graph"]["matched"] == 9 * SIZE[0] * SIZE[1]


def test_the_manifest_and_the_metadata_of_the_file(deployed: tuple[Tiny, Run]) -> None:
    tiny, _ = deployed
    manifest = json.loads((tiny.place / "deployment.json").read_text(encoding="utf-8"))
    assert manifest["axes"] == {"batch": {"min": 1, "opt": 2, "max": 4}}
    assert manifest["inputs"] == [{"name": "images", "dtype": "float32", "shape": ["batch", 3, *SIZE]}]
    assert manifest["outputs"] == [{"name": "label_map", "dtype": "uint8", "shape": ["batch", *SIZE]}]
    assert (manifest["exporter"], manifest["opset"], manifest["provider"]) == ("torchscript", 17, "cpu")
    assert {"torch", "onnx", "onnxruntime", "numpy"} <= manifest["versions"].keys()
    metadata = {entry.key: entry.value for entry in onnx.load(tiny.place / "model.onnx").metadata_props}
    assert metadata["zooport.task"] == "semantic-segmentation"
    assert metadata["names"] == "{0: 'dark', 1: 'red', 2: 'green', 3: 'blue'}"
    assert metadata["imgsz"] == "[64, 96]"
    assert json.loads(metadata["zooport.preprocess"])["resize"] == "letterbox"


@pytest.mark.slow
@pytest.mark.usefixtures("no_plots")
def test_the_same_bytes_in_another_process_and_place(deploy: Deploy, tiny: Tiny) -> None:
    deploy(tiny.with_images())
    elsewhere = tiny.folder / "elsewhere"
    subprocess.run(
        [sys.executable, SCRIPT, tiny.config, "--work-dir", elsewhere, "--image", *tiny.images[::-1]],
        check=True,
        capture_output=True,
    )
    for name in ("model.onnx", "deployment.json"):
        other = elsewhere / tiny.place.relative_to(tiny.work_dir) / name
        assert (tiny.place / name).read_bytes() == other.read_bytes(), name


def test_files_can_be_read_by_others(deployed: tuple[Tiny, Run]) -> None:
    tiny, _ = deployed
    (tiny.folder / "plain").write_text("", encoding="utf-8")
    usual = (tiny.folder / "plain").stat().st_mode
    for path in tiny.place.rglob("*"):
        if path.is_file():
            assert path.stat().st_mode == usual, path


@pytest.mark.usefixtures("no_plots", "deployment")
def test_a_second_deploy_replaces_the_first(deploy: Deploy, tiny: Tiny) -> None:
    assert deploy(tiny.arguments("--image", tiny.images[1], tiny.images[0])).code == 0
    assert names(tiny.place / "previews") == ["01-two.png", "02-one.png"]
    assert names(tiny.place.parent) == ["onnxruntime-fp32"]


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (["--exporter", "torchscript", "--opset", "17", "--backend", "onnxruntime"], "onnxruntime-fp32"),
        pytest.param(["--output-level", "decoded"], "onnxruntime-fp32-decoded", marks=pytest.mark.slow),
        pytest.param(["--dynamic", "batch=3:3:3"], "onnxruntime-fp32-batch3", marks=pytest.mark.slow),
        (["--opset", "18", "--dynamic", "batch=1:1:2"], "onnxruntime-fp32-opset18-batch1-1-2"),
        pytest.param(
            ["--dynamic", "height", "width=64:96:128"],
            "onnxruntime-fp32-height32-64-2048-width64-96-128",
            marks=pytest.mark.slow,
        ),
        pytest.param(["--dynamic", "height=32:64:128"], "onnxruntime-fp32-height32-64-128", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("no_plots")
def test_the_folder_is_named_by_what_differs_from_the_config(
    deploy: Deploy, tiny: Tiny, arguments: list[str], folder: str
) -> None:
    run = deploy(tiny.with_images(*arguments))
    assert run.code == 0, run.err
    assert names(tiny.place.parent) == [folder]


@pytest.mark.usefixtures("no_plots")
def test_a_dynamic_size_is_proved_at_a_second_size(deploy: Deploy, tiny: Tiny) -> None:
    run = deploy(tiny.with_images("--dynamic", "height=32:64:128", "width=32:96:160"))
    assert run.code == 0, run.err
    place = tiny.place.parent / "onnxruntime-fp32-height32-64-128-width32-96-160"
    content = json.loads((place / "parity.json").read_text(encoding="utf-8"))
    shapes = {tuple(case["shape"][2:]) for case in content["cases"] if case["kind"] == "graph"}
    assert shapes == {(64, 96), (83, 123)}
    image = np.zeros((100, 50, 3), np.uint8)
    with load(place) as model:
        assert model.manifest.preprocess.resize == "keep"
        assert model(image).label_map.shape == (100, 50)


@pytest.mark.usefixtures("no_plots")
def test_one_image_is_filled_up_from_the_data_set(deploy: Deploy, tiny: Tiny) -> None:
    tiny.write(SAMPLE_IMAGES + "gates = dict(pipeline=dict(pixels=0.1))\n")
    run = deploy(tiny.arguments("--image", tiny.images[0]))
    assert run.code == 0, run.err
    previews = names(tiny.place / "previews")
    assert len(previews) == 5
    assert previews[0] == "01-one.png"


@pytest.mark.usefixtures("no_plots")
def test_from_python(tiny: Tiny) -> None:
    with deploy_from_python(tiny.config, images=tiny.images, work_dir=tiny.work_dir) as model:
        assert model(np.zeros((64, 96, 3), np.uint8)).label_map.max() == 0


@pytest.mark.usefixtures("deployment")
def test_damaged_deployments_are_refused(tiny: Tiny) -> None:
    model, manifest = tiny.place / "model.onnx", tiny.place / "deployment.json"
    whole, text = model.read_bytes(), manifest.read_text(encoding="utf-8")
    for content in (whole[:-1], whole[: len(whole) // 2], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        model.write_bytes(content)
        with pytest.raises(InputError, match=r"model\.onnx: got (bytes|sha256) .*, expected .*changed") as caught:
            load(tiny.place)
        assert caught.value.exit_code == 2
    model.write_bytes(whole)
    manifest.write_text(text.replace('"schema_version": 2', '"schema_version": 7'), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"deployment\.json: its sha256 is \w{64}, its last line says \w{64}; .*edited"
    ):
        load(tiny.place)
    manifest.write_text(text, encoding="utf-8")
    load(tiny.place).close()


def test_help_has_an_example_and_needs_no_torch() -> None:
    code = "import sys; from zooport.entry import main; code = main(['deploy', '--help'])\n"
    code += "assert code == 0 and 'torch' not in sys.modules"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "zooport deploy configs/detection/faster-rcnn_r18-fpn_digits.py --backend onnxruntime" in shown.stdout
    for flag in ("--checkpoint", "--dynamic", "--image", "--work-dir", "--json", "--device", "--allow-parity-failure"):
        assert flag in shown.stdout
