"""Configs: every fault in one message, nearest names, and the target that a config asks for."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from mmengine.config import Config

from zoo.config import CardSection, axis_range, config_target, load_config, read_config
from zoo.errors import InputError
from zoo.target import AxisRange, Target

GOOD = """
model = dict(type="EncoderDecoder")
task = dict(type="SemanticSegmentation", classes=[dict(name="x", category_id=1)])
preprocess = dict(size=(64, 96))
export = dict(exporter="torchscript", opset=18, inputs=dict(batch=(1, 2, 4)), output_level="decoded")
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "config.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_config_gives_its_target(tmp_path: Path) -> None:
    target = config_target(load_config(write(tmp_path, GOOD)))
    assert target == Target(
        {"batch": AxisRange(1, 2, 4), "height": AxisRange.fixed(64), "width": AxisRange.fixed(96)},
        exporter="torchscript",
        opset=18,
        level="decoded",
    )


@pytest.mark.parametrize("asked", [True, False])
def test_image_sizes_are_an_input_that_a_config_may_ask_for(tmp_path: Path, asked: bool) -> None:
    config = load_config(write(tmp_path, GOOD + f"export['inputs']['image_sizes'] = {asked}\n"))
    assert config_target(config).image_sizes is asked
    assert config_target(config).batch == AxisRange(1, 2, 4)


def test_a_card_and_a_gate_split_are_taken(tmp_path: Path) -> None:
    more = (
        'card = dict(what="x", paper="y", licence="z")\ngate_dataset = dict(type="DigitsSegmentation", split="gate")\n'
    )
    config = load_config(write(tmp_path, GOOD + more))
    assert config.card == CardSection(what="x", paper="y", licence="z")
    assert config.gate_dataset == {"type": "DigitsSegmentation", "split": "gate"}


def test_names_with_an_underscore_are_the_files_own(tmp_path: Path) -> None:
    load_config(write(tmp_path, "_sides = (64, 96)\n" + GOOD))


def test_a_missing_file_names_the_nearest_configs() -> None:
    with pytest.raises(InputError, match=r"no such file; nearest: .*fcn_r18_digits\.py"):
        load_config("configs/segmentation/fcn_r18_digit.py")


def test_all_faults_come_together(tmp_path: Path) -> None:
    text = GOOD.replace("preprocess", "preproces") + 'export["opsett"] = 3\nevaluator = dict()\ncheckpoint = 3\n'
    with pytest.raises(InputError) as caught:
        load_config(write(tmp_path, text))
    message = str(caught.value)
    for part in (
        'unknown key "preproces"; nearest: "preprocess"',
        'key "preprocess" is missing',
        'unknown key export."opsett"; nearest: "opset"',
        '"evaluator" has no "type"',
        '"checkpoint": expected str, got int',
    ):
        assert part in message
    assert "\n" not in message


def test_faults_of_values_come_together_with_those_of_keys(tmp_path: Path) -> None:
    text = """
model = dict(type=3)
task = dict(type="SemanticSegmentaton", classes=[])
preprocess = dict(size=256)
dateset = dict()
export = dict(exporter="dynamit", opset=3, inputs=dict(batch=(4, 2, 1), width="x"), output_level="finl",
              rewriters=["pad", dict(accumulate="pad"), 3])
"""
    with pytest.raises(InputError) as caught:
        load_config(write(tmp_path, text))
    message = str(caught.value)
    for part in (
        'unknown key "dateset"; nearest: "dataset"',
        '"model.type": expected str, got int',
        "preprocess: got size 256, expected (height, width) in whole pixels, 32 or more",
        'unknown task "SemanticSegmentaton"; nearest: "SemanticSegmentation"',
        "export.inputs.batch: axis range 4:2:1: expected 1 <= min <= opt <= max",
        "export.inputs.width: expected one size or (min, opt, max), got 'x'",
        'export.exporter: unknown exporter "dynamit"; nearest: "dynamo"',
        "export.opset: opset 3: expected 17 to 26",
        'export.output_level: unknown level "finl"',
        "\"export.rewriters[1]\": expected a name or dict(name=..., option=value), got {'accumulate': 'pad'}",
        '"export.rewriters[2]": expected a name',
    ):
        assert part in message
    assert "\n" not in message
    assert "rewriters[0]" not in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('task = dict(type="Detection", classes=3)', r'"task.classes": expected a list of dict\(name'),
        ('task = dict(type="Detection", classes=["x"])', r'"task.classes": expected a list of dict\(name'),
        ('task = dict(type="Detection", classes=[])', "task detection: no classes"),
        ("task['image_masks'] = True", 'task [A-Za-z]+: unknown key "image_masks"'),
        (
            "task.update(type='InstanceSegmentation', image_masks='yes')",
            "image_masks: got 'yes', expected True or False",
        ),
        ("preprocess = dict(size=(64, 96), rezise='keep')", 'preprocess: unknown key "rezise"'),
        ("export = dict(opset=17)", "export.opset: opset 17 with exporter dynamo: expected 18 or above"),
        ("export = dict(opset='17')", '"export.opset": expected int, got str$'),
        ("export = dict(inputs=dict(batch=True))", "export.inputs.batch: expected one size"),
        ("export['inputs']['image_sizes'] = 1", "export.inputs.image_sizes: expected True or False, got 1$"),
        ("export['inputs']['image_sizes'] = 'yes'", "export.inputs.image_sizes: expected True or False, got 'yes'"),
        ("export['inputs']['image_size'] = True", 'unknown key export.inputs."image_size"; nearest: "image_sizes"'),
        ('gate_dataset = dict(split="gate")', '"gate_dataset" has no "type"'),
        ('calibration_dataset = dict(root="x")', '"calibration_dataset" has no "type"'),
        ("gate_dataset = dict(type=3)", '"gate_dataset.type": expected str, got int'),
        ("card = dict(what='x', papers='y', licence='z')", 'unknown key card."papers"; nearest: "paper"'),
        ("card = dict(what='x', papers='y', licence='z')", '"card.paper" is missing'),
        ("card = dict(what='x', paper=2015, licence='z')", '"card.paper": expected str, got int'),
        ("card = 'x'", '"card": expected dict, got str'),
    ],
)
def test_values_are_checked(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        load_config(write(tmp_path, GOOD + text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model = dict(\n", "line 1"),
        ("raise RuntimeError('no')", "cannot be read: RuntimeError: no"),
        ("import no_such_module", "cannot be read: ModuleNotFoundError"),
    ],
)
def test_a_file_that_does_not_run(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        load_config(write(tmp_path, text))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((4, 2, 1), "batch: axis range 4:2:1: expected 1 <= min <= opt <= max"),
        ((1, 2), r"batch: expected one size or \(min, opt, max\), got \(1, 2\)"),
        (0, "batch: axis range 0:0:0"),
    ],
)
def test_axis_ranges_are_checked(value: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        axis_range("batch", value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"backend": "ONNX Runtime"}, "backend 'ONNX Runtime': expected a name of lower-case letters, digits and"),
        ({"exporter": "torchscrip"}, 'unknown exporter "torchscrip"; nearest: "torchscript"'),
        ({"opset": 17}, "opset 17 with exporter dynamo: expected 18 or above"),
        ({"opset": 3, "exporter": "torchscript"}, "opset 3: expected 17 to 26"),
        ({"opset": 22, "exporter": "torchscript"}, "opset 22 with exporter torchscript: it writes up to 20"),
        ({"level": "rawest"}, 'unknown level "rawest"; nearest: "raw"'),
        ({"precision": "fp8"}, 'unknown precision "fp8"'),
    ],
)
def test_targets_are_checked(changes: dict[str, object], words: str) -> None:
    target = Target({"height": AxisRange.fixed(64), "width": AxisRange.fixed(96)})
    with pytest.raises(InputError, match=words):
        target.with_(**changes)


def test_only_who_reads_or_writes_the_file_knows_that_a_config_is_mmengines() -> None:
    root = Path(__file__).parents[2]
    packages = ("zoo", "rewriters", "backends", "pipeline", "tools", "zooport")
    sources = {path: path.read_text(encoding="utf-8") for name in packages for path in (root / name).rglob("*.py")}
    importing = {str(path.relative_to(root)) for path, text in sources.items() if "import Config\n" in text}
    writing = {"pipeline/training/own_config/writing.py", "zoo/own_model/writing.py"}
    assert importing == {"zoo/config/loading.py", "zoo/config/reading.py", *writing}


def test_an_mmengine_config_may_be_changed_before_it_is_checked(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, GOOD))
    config.export["opset"] = 17
    assert load_config(config).export.target["opset"] == 17
    config.export["opsett"] = 3
    with pytest.raises(InputError, match=r'config .*config.py: unknown key export."opsett"'):
        load_config(config)
    with pytest.raises(InputError, match="has no filename"):
        load_config(Config({"model": {}}))


def test_a_config_is_frozen_and_read_once(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, GOOD))
    assert load_config(config) is config
    with pytest.raises(FrozenInstanceError):
        config.checkpoint = "other.pth"  # type: ignore[misc]
