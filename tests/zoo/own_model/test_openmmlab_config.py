"""`zooport init` and `zooport deploy` of a config of mmsegmentation, which need not be installed."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.zoo.codebases.small_configs import CLASSES, MODEL, config_content, write
from zoo.build import build_model, build_section
from zoo.codebases import CodebaseConfig
from zoo.codebases.mmseg.codebase import Mmseg
from zoo.codebases.mmseg.segmentor import segmentor_of
from zoo.config import load_config
from zoo.errors import InputError
from zoo.own_model import ModelRequest, config_for_deploy, write_config

ROOT = Path(__file__).parents[3]


def checkpoint(path: Path, meta: dict[str, Any] | None = None) -> Path:
    """As mmengine's Runner writes it: in a wrapper of distributed training, with an auxiliary head and averages."""
    section = segmentor_of(CodebaseConfig(Path("my.py"), config_content()))
    torch.manual_seed(0)
    state = build_section(section).state_dict() | {"auxiliary_head.conv_seg.weight": torch.zeros(3, 8, 1, 1)}
    raw = {f"module.{name}": torch.zeros_like(tensor) for name, tensor in state.items()}
    wrapped = {f"module.{name}": tensor for name, tensor in state.items()}
    torch.save({"meta": meta or {}, "state_dict": wrapped, "ema_state_dict": raw}, path)
    return path


def test_a_config_is_written_and_builds_the_trained_model(tmp_path: Path) -> None:
    source = write(tmp_path, config_content())
    weights = checkpoint(tmp_path / "epoch_3.pth", {"dataset_meta": {"classes": CLASSES}})
    written = write_config(ModelRequest(str(source), weights=weights, out=tmp_path / "out.py"))
    assert written.classes == CLASSES
    assert written.notes == ("The names are those of the checkpoint epoch_3.pth.",)
    config = load_config(written.path)
    assert config.model["backbone"]["type"] == "ResNet"
    assert config.model.get("auxiliary_head") is None
    weight = build_model(config).decode_head.conv_seg.weight
    state = torch.load(weights, weights_only=True)["state_dict"]
    assert torch.equal(weight, state["module.decode_head.conv_seg.weight"])
    assert written.path.read_text().startswith('"""FCNHead on ResNetV1c, whole, from my_fcn.py of mmseg."""')


@pytest.mark.parametrize(
    ("request_classes", "meta", "metainfo", "note"),
    [
        (("a", "b", "c"), {"dataset_meta": {"classes": CLASSES}}, ("x", "y", "z"), "those of --classes"),
        (("x", "y", "z"), {}, ("x", "y", "z"), "those of my_fcn.py, metainfo"),
        (("o", "p", "q"), {"CLASSES": ["o", "p", "q"]}, None, "those of the checkpoint epoch_3.pth"),
        (("class_0", "class_1", "class_2"), {}, None, "The checkpoint does not name its classes"),
    ],
)
def test_names_of_classes(
    request_classes: tuple[str, ...], meta: dict[str, Any], metainfo: Any, note: str, tmp_path: Path
) -> None:
    dataset = {} if metainfo is None else {"metainfo": {"classes": metainfo}}
    source = write(tmp_path, config_content(**dataset))
    weights = checkpoint(tmp_path / "epoch_3.pth", meta)
    chosen = request_classes if "--classes" in note else ()
    out = tmp_path / "out.py"
    written = write_config(ModelRequest(str(source), weights=weights, out=out, classes=chosen))
    assert written.classes == request_classes
    assert note in written.notes[0]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("a",), "the checkpoint epoch_3.pth: got 1 names, but .*my_fcn.py has 3 classes; with --classes give 3 names"),
        (
            ("a", "b", "a"),
            'the checkpoint epoch_3.pth: "a" appears twice; with --classes give each class a name of its',
        ),
    ],
)
def test_names_that_do_not_fit_are_those_of_the_checkpoint(names: tuple[str, ...], words: str, tmp_path: Path) -> None:
    source = write(tmp_path, config_content())
    weights = checkpoint(tmp_path / "epoch_3.pth", {"dataset_meta": {"classes": names}})
    with pytest.raises(InputError, match=words):
        write_config(ModelRequest(str(source), weights=weights, out=tmp_path / "out.py"))


def test_values_of_label_maps_start_at_one_where_zero_is_taken_off(tmp_path: Path) -> None:
    source = write(tmp_path, config_content(reduce_zero_label=True))
    weights = checkpoint(tmp_path / "epoch_3.pth")
    written = write_config(ModelRequest(str(source), weights=weights, out=tmp_path / "out.py"))
    assert [info.category_id for info in load_config(written.path).task.classes] == [1, 2, 3]


@pytest.mark.parametrize(
    ("known", "ids"),
    [(("road", "sidewalk", "sky", "car"), [3, 0, 2]), ((), [0, 1, 2]), (("tree", "house"), [0, 1, 2])],
)
def test_classes_that_the_config_chooses_have_their_values_or_no_data_set(
    known: tuple[str, ...], ids: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mmsegmentation maps the values of the label maps by the names. Without it they are not known."""
    monkeypatch.setattr(Mmseg, "metainfo_names", lambda *_: known)
    data = {"type": "CityscapesDataset", "data_root": str(tmp_path), "metainfo": {"classes": ("car", "road", "sky")}}
    source = write(tmp_path, config_content(**data))
    weights = checkpoint(tmp_path / "epoch_3.pth")
    written = write_config(ModelRequest(str(source), weights=weights, out=tmp_path / "out.py"))
    config = load_config(written.path)
    assert [info.category_id for info in config.task.classes] == ids
    assert ("dataset" in config.content) is ("car" in known)
    assert config.content.get("dataset", {}).get("others_ignored", False) is ("car" in known)
    assert any("chooses its classes" in note for note in written.notes) is ("car" not in known)


def test_the_whole_data_sets_own_names_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mmseg, "metainfo_names", lambda *_: CLASSES)
    data = {"type": "CityscapesDataset", "data_root": str(tmp_path), "metainfo": {"classes": CLASSES}}
    source = write(tmp_path, config_content(**data))
    weights = checkpoint(tmp_path / "epoch_3.pth")
    written = write_config(ModelRequest(str(source), weights=weights, out=tmp_path / "out.py"))
    assert load_config(written.path).dataset["type"] == "Cityscapes"


def test_the_data_set_within_its_wrappers() -> None:
    inner = {"type": "ADE20KDataset", "data_root": "ade"}
    content = {"test_dataloader": {"dataset": {"type": "RepeatDataset", "times": 1, "dataset": inner}}}
    assert CodebaseConfig(Path("my.py"), content).dataset == inner


@pytest.mark.parametrize("mode", ["whole", "slide"])
def test_a_size_is_that_of_every_tensor(mode: str, tmp_path: Path) -> None:
    test = {"mode": mode, "crop_size": (64, 64), "stride": (32, 32)} if mode == "slide" else {"mode": mode}
    keeps = [{"type": "LoadImageFromFile"}, {"type": "PackSegInputs"}]
    source = write(tmp_path, config_content({**MODEL, "test_cfg": test}, keeps))
    weights = checkpoint(tmp_path / "epoch_3.pth")
    out = tmp_path / "out.py"
    written = write_config(ModelRequest(str(source), weights=weights, out=out, size=(96, 128)))
    config = load_config(written.path)
    assert set(config.content["export"]["inputs"]) == {"batch"}
    assert config.preprocess.size == (96, 128)
    assert config.content["task"]["resize"] == "logits"


def test_a_folder_of_cityscapes_becomes_the_data_set(tmp_path: Path) -> None:
    folder = tmp_path / "cityscapes"
    data = {"type": "CityscapesDataset", "data_root": str(folder), "data_prefix": {"img_path": "leftImg8bit/test"}}
    source = write(tmp_path, config_content(**data))
    weights = checkpoint(tmp_path / "epoch_3.pth")
    written = write_config(ModelRequest(str(source), weights=weights, out=tmp_path / "out.py"))
    expected = {"type": "Cityscapes", "root": str(folder), "split": "test", "labels": "labelTrainIds"}
    assert load_config(written.path).dataset == expected
    assert written.classes == ("class_0", "class_1", "class_2")  # Cityscapes has 19, by mmseg where it is installed


@pytest.mark.parametrize("name", ["my_fcn.py", "base.py"])
def test_force_replaces_neither_the_config_nor_its_bases(name: str, tmp_path: Path) -> None:
    base = write(tmp_path, config_content()).rename(tmp_path / "base.py")
    source = tmp_path / "my_fcn.py"
    source.write_text("_base_ = ['base.py']\n")
    before = base.read_text()
    with pytest.raises(InputError, match="the config is made of this file and would replace it; give another --out"):
        write_config(ModelRequest(str(source), weights=base, out=tmp_path / "x" / ".." / name, force=True))
    assert base.read_text() == before


@pytest.mark.openmmlab
def test_a_type_of_data_set_names_its_classes_in_a_fresh_process(tmp_path: Path) -> None:
    """mmcv-lite has no operators, without which mmseg is not imported."""
    if find_spec("mmseg") is None:
        pytest.skip("needs the extra mmseg")
    code = "from zoo.codebases.mmseg.codebase import Mmseg; print(*Mmseg().metainfo_names('CityscapesDataset'))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.split()[:2] == ["road", "sidewalk"]


def test_a_part_that_is_unknown_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.codebases.mmseg.adapting.find_spec", lambda _name: None)  # where mmseg is not installed
    source = write(tmp_path, config_content({**MODEL, "backbone": {"type": "NewNet"}}))
    weights = checkpoint(tmp_path / "epoch_3.pth")
    with pytest.raises(InputError, match='NewNet is none of zooport.s own; nearest: .*pip install "zooport.mmseg."'):
        write_config(ModelRequest(str(source), weights=weights, out=tmp_path / "out.py"))
    assert not (tmp_path / "out.py").exists()


def test_deploy_writes_the_config_into_the_work_directory(tmp_path: Path) -> None:
    source = write(tmp_path, config_content())
    weights = checkpoint(tmp_path / "epoch_3.pth")
    written = config_for_deploy(str(source), str(weights), tmp_path / "work")
    assert written is not None
    assert written.path == tmp_path / "work" / "my_fcn.py"
    assert load_config(written.path).weights == str(tmp_path / "work" / ".." / "epoch_3.pth")
    again = config_for_deploy(str(source), str(weights), tmp_path / "work")
    assert again == written
    with written.path.open("a") as file:
        file.write("gates = None\n")
    words = f"{written.path}: it would be replaced by the config of {source}, and somebody has changed it"
    with pytest.raises(InputError, match=re.escape(words)):
        config_for_deploy(str(source), str(weights), tmp_path / "work")


def test_deploy_needs_the_checkpoint(tmp_path: Path) -> None:
    source = write(tmp_path, config_content())
    with pytest.raises(InputError, match="is a config of OpenMMLab, which has no trained weights; give --checkpoint"):
        config_for_deploy(str(source), None, tmp_path)


def test_other_sources_are_left_to_the_others(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("class Net: ...\nraise RuntimeError('this file was run')\n")
    assert config_for_deploy(str(tmp_path / "net.py"), None, tmp_path) is None
    assert config_for_deploy("fcn_r18_digits", None, tmp_path) is None
