"""What comes along from a shipped config that a config of one's own starts from."""

from pathlib import Path

import pytest

import zoo.datasets  # noqa: F401 - registers them
from tests.zoo_configs import ROOT
from zoo.config import load_config
from zoo.datasets.digits.generated_split import GeneratedSplit
from zoo.errors import InputError
from zoo.generated_data import DIGITS, GENERATED
from zoo.registry import DATASETS

DETECTOR = "detection/faster-rcnn_r18-fpn_digits.py"
OWN = 'dict(_delete_=True, type="CocoDetection", images="i", annotations="a.json")'
STREETS = """
task = dict(type="Detection3D", classes=[dict(name="car", category_id=0)])
model = dict(type="SomeModel")
preprocess = dict()
train_dataset = dict(type="Streets", split="train")
dataset = dict(type="Streets", split="shipped")
gate_dataset = dict(type="Streets", split="gate")
calibration_dataset = dict(type="Streets", split="train", count=4)
evaluator = dict(type="KittiAP")
card = dict(what="a model", paper="2020", licence="Apache-2.0")
"""
SILENT = '"card", "gate_dataset", "calibration_dataset"'


def config(folder: Path, text: str, base: str = DETECTOR) -> Path:
    path = folder / "mine.py"
    path.write_text(f'_base_ = ["{ROOT}/configs/{base}"]\n{text}\n', encoding="utf-8")
    return path


def test_parts_about_the_digits_do_not_come_along_with_other_data(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_config(config(tmp_path, f"dataset = {OWN}"))
    assert str(caught.value) == (
        f"config {tmp_path}/mine.py: {SILENT} would be inherited from faster-rcnn_r18-fpn_digits.py, which describes "
        "other data than this config; set those that apply to your data, and switch off the others: card=None, "
        "gate_dataset=None, calibration_dataset=None"
    )


def test_training_data_needs_its_own_classes_recipe_and_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_config(config(tmp_path, f"train_dataset = {OWN}"))
    message = str(caught.value)
    assert f'{SILENT}, "dataset", "checkpoint", "train" would be inherited' in message
    assert '"task" would be inherited from digits_detection.py' in message
    assert message.endswith("set task=dict(classes=[dict(name=..., category_id=...), ...])")


def test_a_task_without_classes_is_not_about_other_data(tmp_path: Path) -> None:
    own = 'train_dataset = dict(type="SuperResolutionFolder", root="mine", scale=3)'
    with pytest.raises(InputError, match='"train" would be inherited') as caught:
        load_config(config(tmp_path, own, "restoration/srcnn_x3_photographs.py"))
    assert "set task=" not in str(caught.value)


def test_a_base_of_ones_own_between_does_not_hide_it(tmp_path: Path) -> None:
    config(tmp_path, "card = None")
    (tmp_path / "child.py").write_text(f'_base_ = "mine.py"\ndataset = {OWN}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r'child.py: "gate_dataset", "calibration_dataset" would be inherited'):
        load_config(tmp_path / "child.py")


@pytest.mark.parametrize(
    ("base", "text"),
    [
        (DETECTOR, f"dataset = {OWN}\ncard = None\ngate_dataset = None\ncalibration_dataset = None"),
        (DETECTOR, f"dataset = {OWN}\ncard = None\ngate_dataset = {OWN}\ncalibration_dataset = {OWN}"),
        (DETECTOR, 'dataset = dict(root="elsewhere")'),  # the digits all the same
        (DETECTOR, 'checkpoint = "w.pth"'),
        ("detection/faster-rcnn_r50-fpn_coco.py", 'dataset = dict(images="elsewhere")'),  # COCO all the same
    ],
)
def test_what_is_set_or_switched_off_is_fine(base: str, text: str, tmp_path: Path) -> None:
    load_config(config(tmp_path, text, base))


def test_none_switches_an_inherited_key_off(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path, "card = None\ngates = None\ntrain = None\ncheckpoint = None"))
    assert (loaded.card, loaded.gates, loaded.train, loaded.checkpoint) == (None, None, None, None)
    assert not {"card", "gates", "train", "checkpoint"} & loaded.content.keys()
    with pytest.raises(InputError, match='key "model" is missing'):
        load_config(config(tmp_path, "model = None"))


def test_every_generated_data_set_is_known() -> None:
    """The names are read without torch, so they are written down."""
    of_digits = {name for name, made in DATASETS.module_dict.items() if issubclass(made, GeneratedSplit)}
    assert of_digits == {name for name, data in GENERATED.items() if data == DIGITS}
    assert set(GENERATED) <= set(DATASETS.module_dict)


def test_a_training_set_of_a_shipped_config_does_not_come_along_with_other_data(tmp_path: Path) -> None:
    """It would be learned, and another one judged."""
    path = config(tmp_path, 'dataset = dict(_delete_=True, type="KittiDataset", root="kitti")', "streets.py")
    shipped = tmp_path / "configs" / "streets.py"
    shipped.parent.mkdir()
    shipped.write_text(STREETS, encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8").replace(f"{ROOT}/configs", str(shipped.parent)), encoding="utf-8")
    load_config(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zoo.config.inherited.CONFIGS", shipped.parent)
        with pytest.raises(InputError) as caught:
            load_config(path)
    assert '"card", "train_dataset", "gate_dataset", "calibration_dataset" would be inherited' in str(caught.value)
