"""Manifests that were made to harm: each is one line that names the folder, and a right one is loaded."""

import hashlib
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends import load
from tests.backends.twins import KINDS, write_twin
from zoo.errors import BackendUnavailableError, InputError
from zoo.manifest import file_record

Fields = dict[str, Any]


def text_of(fields: Fields) -> bytes:
    """As zooport writes a manifest, but of what it would refuse to write."""
    plain = {key: value for key, value in fields.items() if key != "manifest_sha256"}
    body = json.dumps(plain, sort_keys=True, indent=2).removesuffix("\n}").encode()
    return body + f',\n  "manifest_sha256": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def error_of(folder: Path, content: bytes) -> str:
    (folder / "deployment.json").write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(folder).close()
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message
    return message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_twin(tmp_path / "place", 1, "onnxruntime")


@pytest.fixture
def fields(folder: Path) -> Fields:
    content: Fields = json.loads((folder / "deployment.json").read_bytes())
    return content


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda f: f["files"].update({"a\0b": f["files"]["model.onnx"]}), "not that of a file inside the folder"),
        (lambda f: f["files"].update({"model.onnx\n": f["files"]["model.onnx"]}), "not that of a file inside"),
        (lambda f: f["files"]["model.onnx"].update(sha256="0" * 64 + "\n"), "expected a match"),
        (lambda f: f.update(name="a\nb"), "name: got"),
        (lambda f: f["classes"][0].update(name="\x1b[31m"), "classes[0].name: got"),
        (
            lambda f: f.update(task_options={"classes": True}),
            'task_options: task semantic-segmentation has no option "cl',
        ),
        (lambda f: f.update(task="none"), 'unknown task "none"'),
        (lambda f: f["preprocess"].update(size=[10**6, 10**6]), "preprocess.size[0]: got 1000000, and images takes 32"),
        (lambda f: f["preprocess"].update(size=None, resize="keep", size_divisor=10**6), "size_divisor: got 1000000"),
        (
            lambda f: f["axes"]["batch"].update(min=10**6, opt=10**6, max=10**6),
            "images has 3072000000 elements at least",
        ),
        (lambda f: f["axes"]["batch"].update(min=9), "axis range 9:1:2"),
        (lambda f: f["inputs"][0].update(shape=[]), "inputs: images has 0 axes, expected 4"),
        (lambda f: f["inputs"][0].update(shape=["batch", 5, 32, 32]), "expected images float32 [batch, 5, 32, 32]"),
        (lambda f: f["inputs"][0].update(dtype="float33"), "inputs[0].dtype: got"),
        (lambda f: f["inputs"].append(f["inputs"][0]), "inputs: got the names images, images, expected each once"),
        (lambda f: f["outputs"][0].update(shape=["batch", 2, 32, 32]), "expected logits float32 [batch, 2, 32, 32]"),
        (lambda f: f.update(defaults={"images": float("nan")}), "NaN is not a JSON number"),
        (lambda f: f.update(gates={"a": {"b": float("nan")}}), "NaN is not a JSON number"),
        (lambda f: f.update(gates={"a": float("inf")}), "Infinity is not a JSON number"),
        (lambda f: f.update(defaults={"images": 10**400}), "is too large"),
        (lambda f: f.update(defaults={"images": 1e300}), "defaults.images: got 1e+300, which is not float32"),
        (lambda f: f.update(defaults={"scale": 2}), 'defaults: no input "scale"'),
        (lambda f: f.update(threads=10**9), "threads: got 1000000000"),
        (lambda f: f.update(provider="gpu"), 'unknown provider "gpu"'),
        (lambda f: f.update(name="\ud800"), "not a JSON file"),
    ],
)
def test_hostile_fields(folder: Path, fields: Fields, edit: Callable[[Fields], Any], words: str) -> None:
    edit(fields)
    assert words in error_of(folder, text_of(fields))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (
            lambda text: text.replace(b'"gates": {}', b'"gates": {"a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"),
            "recursion",
        ),
        (lambda text: b"[" * 10**6, "recursion"),
        (lambda text: text.replace(b'"opset": 20', b'"opset": 20, "opset": 21'), "a key appears twice"),
        (lambda text: text.replace(b'"opset": 20', b'"opset": 1e999'), "is too large"),
        (lambda text: text.replace(b'"opset": 20', b'"opset": ' + b"9" * 10**4), "not a JSON file"),
    ],
)
def test_hostile_texts(folder: Path, fields: Fields, edit: Callable[[bytes], bytes], words: str) -> None:
    body = edit(text_of(fields).partition(b',\n  "manifest_sha256"')[0])
    content = body + f',\n  "manifest_sha256": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()
    assert words in error_of(folder, content)


def test_fewer_classes_than_the_graph_has(folder: Path, fields: Fields) -> None:
    model = onnx.load(folder / "model.onnx")
    onnx.helper.set_model_props(model, {"zooport.classes": json.dumps(fields["classes"])})
    onnx.save(model, folder / "model.onnx")
    fields["files"]["model.onnx"] = file_record(folder / "model.onnx")
    (folder / "deployment.json").write_bytes(text_of(fields))
    load(folder).close()
    fields["classes"].pop()
    assert "its graph has 3 classes, and deployment.json describes 2" in error_of(folder, text_of(fields))


HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([10**6, 2**31, 2**63 - 1, 2**63, -(2**63), 10**400]),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        ["", "images", "logits", "batch", "\n", "\0", "..", "cuda", "tensorrt", "int8", "float16", "final"]
    ),
    st.just([]),
    st.just({}),
    st.lists(st.integers(-1, 40), max_size=5),
    st.dictionaries(st.text(max_size=3), st.integers(-1, 3), max_size=2),
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


OPTIONS: Fields = {
    "task_options": {},
    "defaults": {},
    "engine": {},
    "provider": "cpu",
    "threads": 1,
    "rewriters": [{"name": "a", "reason": "b", "hits": 1}],
    "checkpoint": {"sha256": "0" * 64},
    "config": {"sha256": "1" * 64},
}


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Fields]]:
    made = []
    for kind in KINDS:
        folder = write_twin(tmp_path_factory.mktemp(kind) / "place", 1, kind)
        fields = OPTIONS | json.loads((folder / "deployment.json").read_bytes())
        fields.pop("manifest_sha256")
        made.append((folder, fields))
    return made


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_is_one_line_or_loads(valid: list[tuple[Path, Fields]], data: st.DataObject) -> None:
    folder, fields = data.draw(st.sampled_from(valid))
    fields = deepcopy(fields)
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from(list(places(fields))))
        holder: Any = fields
        for key in parents:
            holder = holder[key]
        how = data.draw(st.sampled_from(["change", "remove", "add"]))
        if how == "remove":
            del holder[last]
        elif how == "add" and isinstance(holder, dict):
            holder[data.draw(st.text(max_size=4))] = data.draw(HOSTILE)
        else:
            holder[last] = data.draw(HOSTILE)
    (folder / "deployment.json").write_bytes(text_of(fields))
    try:
        load(folder).close()
    except (InputError, BackendUnavailableError) as error:
        assert "\n" not in str(error)  # noqa: PT017 - a good load is right, too
        assert isinstance(error, BackendUnavailableError) or str(folder) in str(error)  # noqa: PT017
