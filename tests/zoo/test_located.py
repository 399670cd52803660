"""Paths in a config start at the file in which they are written, names of shipped configs are found from everywhere."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from zoo import list_models, shipped
from zoo.cards import read_card
from zoo.config import load_config
from zoo.config.located import located
from zoo.config.names import config_names, find_config
from zoo.datasets import config_dataset
from zoo.datasets.digits import cache
from zoo.errors import InputError

ROOT = Path(__file__).parents[2]
BASE = """
model = dict(type="X")
task = dict(type="SemanticSegmentation", classes=[dict(name="a", category_id=1)])
preprocess = dict(size=(64, 96))
checkpoint = "weights.safetensors"
_root = "data"
dataset = dict(type="ImageFolder", root=f"{_root}/val")
calibration_dataset = dict(type="ImageFolder", root="train")
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config that takes a base's checkpoint and data set, and has a calibration_dataset of its own."""
    for folder in ("base/data/val", "base/train", "mine/train", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "base" / "base.py").write_text(BASE, encoding="utf-8")
    path = tmp_path / "mine" / "child.py"
    path.write_text('_base_ = ["../base/base.py"]\ncalibration_dataset = dict(root="train")\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path / "elsewhere")
    return path


def test_a_path_starts_at_the_file_in_which_it_is_written(child: Path) -> None:
    config, base = load_config(child), child.parents[1] / "base"
    assert Path(config.weights or "").resolve() == base / "weights.safetensors"
    assert config.locate("data/val", "dataset", "root").resolve() == base / "data" / "val"
    assert config.locate("train", "calibration_dataset", "root") == child.parent / "train"
    assert config.locate("/data", "dataset", "root") == Path("/data")
    child.write_text('_base_ = ["../base/base.py"]\ncheckpoint = "own.safetensors"\n', encoding="utf-8")
    assert load_config(child).weights == str(child.parent / "own.safetensors")


def test_a_data_set_is_found_from_every_folder(child: Path) -> None:
    base = child.parents[1] / "base"
    for folder, count in ((base / "data/val", 2), (base / "train", 3), (child.parent / "train", 1)):
        for number in range(count):
            cv2.imwrite(str(folder / f"{number}.png"), np.zeros((8, 8, 3), np.uint8))
    config = load_config(child)
    assert len(config_dataset(config, "dataset")) == 2
    assert len(config_dataset(config, "calibration_dataset")) == 1
    assert len(config_dataset(load_config(base / "base.py"), "calibration_dataset")) == 3


def test_an_address_is_no_path(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(BASE.replace("weights.safetensors", "torchvision://A.B"), encoding="utf-8")
    assert load_config(path).weights == "torchvision://A.B"


def test_bare_names_are_those_of_the_shipped_configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = config_names()
    assert len(set(names)) == len(names) == len(list_models())
    expected = ROOT / "configs" / "segmentation" / "fcn_r18_digits.py"
    for name in ("fcn_r18_digits", "fcn_r18_digits.py", "configs/segmentation/fcn_r18_digits.py", expected):
        assert find_config(name) == expected
    own = tmp_path / "fcn_r18_digits.py"
    own.touch()
    assert find_config("fcn_r18_digits.py") == Path("fcn_r18_digits.py")  # one's own comes first
    assert find_config("fcn_r18_digits") == expected


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("fcn_r18_digit", '"fcn_r18_digits"'),
        ("fcn_r18_digit.py", '"fcn_r18_digits.py"'),
        ("configs/segmentation/fcn_r81_digits.py", '"configs/segmentation/fcn_r18_digits.py"'),
        ("my_modle.py", '"my_model.py"'),
    ],
)
def test_an_unknown_name_gives_the_nearest(
    name: str, nearest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_model.py").touch()
    with pytest.raises(InputError) as caught:
        load_config(name)
    assert str(caught.value).startswith(f"config {name}: no such file; nearest: {nearest}")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As in an installation: configs, and neither weights nor data."""
    monkeypatch.setattr(shipped, "PACKAGES", tmp_path)
    return tmp_path


def test_an_installation_says_where_the_weights_and_data_are(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config("fcn_r18_digits")
    monkeypatch.setattr(cache, "DIGITS_ROOT", shipped.shipped_path("zoo/data/digits"))
    where = "; zooport's weights and data are only in a checkout: set ZOOPORT_HOME to the folder of one"
    from zoo import build_model

    with pytest.raises(InputError) as caught:
        build_model(config)
    assert str(caught.value) == f"checkpoint {installed}/zoo/weights/fcn_r18_digits.safetensors: no such file{where}"
    with pytest.raises(InputError) as caught:
        config_dataset(config, "dataset")
    assert str(caught.value) == f'digits split "val": no {installed}/zoo/data/digits/val/annotations.json{where}'
    card = read_card(config.path)
    assert card.problem is None  # what was measured is shown, though there is nothing to compare it with
    assert card.measured is not None
    monkeypatch.setenv(shipped.HOME, str(ROOT))
    assert config.weights == str(ROOT / "zoo/weights/fcn_r18_digits.safetensors")
    assert shipped.shipped_path("zoo/data/digits") == ROOT / "zoo/data/digits"
    assert read_card(config.path).problem is None
    build_model(config)


def test_other_missing_files_are_nobody_elses(installed: Path) -> None:
    assert shipped.whereabouts(installed / "mine.safetensors") == ""
    assert shipped.in_repository(installed, "a.safetensors") is None


def test_a_value_that_stands_elsewhere_in_the_config_says_nothing_of_its_key(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base/base.py").write_text('_root = "data"\ndataset = dict(root=_root)\n', encoding="utf-8")
    child = tmp_path / "child.py"
    child.write_text('_base_ = ["base/base.py"]\ntrain_dataset = dict(root="data")\n', encoding="utf-8")
    assert located(child, ("dataset", "root"), "data") == tmp_path / "base/data"
    assert located(child, ("train_dataset", "root"), "data") == tmp_path / "data"
