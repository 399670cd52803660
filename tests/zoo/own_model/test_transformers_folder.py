"""`zooport init FOLDER` for what transformers' save_pretrained wrote: what is wrong is known without the library."""

import json
from pathlib import Path
from typing import Any

import pytest

from zoo.errors import InputError
from zoo.own_model import ModelRequest, write_config
from zoo.preprocess_mapping import from_transformers

PROCESSOR = {
    "image_processor_type": "SegformerImageProcessor",
    "size": {"height": 64, "width": 96},
    "resample": 2,
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all files, and no weights in them."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "segformer", "architectures": ["Segformer"]}))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    (tmp_path / "model.safetensors").touch()
    return tmp_path


def refusal(folder: Path, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        write_config(ModelRequest(str(folder), out=folder / "mine.py", **options))
    assert not (folder / "mine.py").exists()
    return str(raised.value)


def test_no_preprocessing(folder: Path) -> None:
    (folder / "preprocessor_config.json").unlink()
    message = refusal(folder)
    assert "no preprocessor_config.json, which image_processor.save_pretrained(folder) writes" in message
    assert message.endswith("; --size HEIGHT WIDTH writes a config for you to complete")


@pytest.mark.parametrize("name", ["preprocessor_config.json", "processor_config.json"])
def test_a_field_without_a_counterpart_is_named(name: str, folder: Path) -> None:
    fields = {**PROCESSOR, "resample": 1}
    (folder / "preprocessor_config.json").unlink()
    (folder / name).write_text(json.dumps({"image_processor": fields} if name.startswith("processor") else fields))
    assert "resample is 1, expected" in refusal(folder)


def test_names_that_transformers_kept_for_itself_say_nothing() -> None:
    known = {"_valid_processor_keys": ["images", "do_resize"], "_valid_kwargs_names": ["do_resize"]}
    assert from_transformers({**PROCESSOR, **known}) == from_transformers(PROCESSOR)


def test_the_newer_of_two_files_counts(folder: Path) -> None:
    """As transformers itself has it: a processor that was saved again leaves the old file where it is."""
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": {**PROCESSOR, "resample": 1}}))
    assert "resample is 1, expected" in refusal(folder)
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": "A"}))
    (folder / "preprocessor_config.json").write_text(json.dumps({**PROCESSOR, "resample": 4}))
    assert "resample is 4, expected" in refusal(folder)


def test_files_that_are_no_json(folder: Path) -> None:
    (folder / "preprocessor_config.json").write_text("{")
    assert "preprocessor_config.json: not a JSON file" in refusal(folder)


def test_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert refusal(folder).endswith("no model.safetensors or pytorch_model.bin; give --weights FILE")


def test_arguments_are_those_of_the_folder(folder: Path) -> None:
    assert refusal(folder, arguments={"num_labels": 3}).startswith(f"--arg with {folder}: FOLDER does not take it")
