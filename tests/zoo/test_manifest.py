"""deployment.json: written, read, checked."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zoo.errors import InputError
from zoo.manifest import Manifest, file_record
from zoo.manifest_schema import MANIFEST_SCHEMA, NEW_KEYS, schema_errors
from zoo.manifest_text import manifest_text
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tasks import ClassInfo
from zoo.tensor_spec import TensorSpec

SCHEMA_FILE = Path(__file__).resolve().parents[2] / "docs" / "deployment.schema.json"


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    """A manifest with something in every field; its file lies in tmp_path."""
    (tmp_path / "model.onnx").write_bytes(b"weights")
    return Manifest(
        name="fcn_r18_digits",
        task="semantic-segmentation",
        classes=(ClassInfo("background", None), ClassInfo("naïve", 1)),
        preprocess=Preprocess((64, 96)),
        inputs=(TensorSpec("images", "float32", ("N", 3, 64, 96)),),
        outputs=(TensorSpec("label_map", "uint8", ("N", 64, 96)),),
        axes={"N": AxisRange(1, 2, 8)},
        output_level="final",
        backend="onnxruntime",
        precision={"stored": "fp16", "computed": "fp32"},
        provider="CPUExecutionProvider",
        threads=None,
        exporter="dynamo",
        opset=20,
        versions={"torch": "2.15.0", "onnx": "1.23.2"},
        rewriters=({"name": "resize", "reason": "plain ints", "hits": 3},),
        files={"model.onnx": file_record(tmp_path / "model.onnx")},
        parity={"verdict": "passed"},
        gates={"logits": 1e-4, "metric": {"points": 0.1}},
        checkpoint={"sha256": "0" * 64},
        config={"sha256": "1" * 64},
    )


def edited(manifest: Manifest, edit: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    fields = manifest.to_dict()
    edit(fields)
    return fields


def test_what_is_written_is_read(manifest: Manifest, tmp_path: Path) -> None:
    path = manifest.write(tmp_path)
    assert path == tmp_path / "deployment.json"
    assert Manifest.read(tmp_path) == manifest
    kept = replace(manifest, preprocess=Preprocess(None, resize="keep"), provider=None, threads=2)
    kept.write(tmp_path)
    assert Manifest.read(tmp_path) == kept


def test_options_of_the_task(manifest: Manifest, tmp_path: Path) -> None:
    assert b"task_options" not in manifest.write(tmp_path).read_bytes()
    asked = replace(manifest, task="instance-segmentation", task_options={"image_masks": True})
    assert json.loads(asked.write(tmp_path).read_bytes())["task_options"] == {"image_masks": True}
    assert Manifest.read(tmp_path) == asked


@pytest.mark.parametrize("key", ["checkpoint", "config"])
def test_a_manifest_that_does_not_tell_what_it_was_made_from_is_read(
    manifest: Manifest, tmp_path: Path, key: str
) -> None:
    (tmp_path / "deployment.json").write_bytes(manifest_text(edited(manifest, lambda f: f.pop(key))))
    assert Manifest.read(tmp_path) == replace(manifest, **{key: None})


def test_the_bytes_are_always_the_same(manifest: Manifest, tmp_path: Path) -> None:
    first = manifest.write(tmp_path).read_bytes()
    again = replace(manifest, versions=dict(reversed(manifest.versions.items())))
    assert again.write(tmp_path).read_bytes() == first
    assert first.endswith(b"}\n")
    assert "naïve".encode() in first
    lines = first.decode().splitlines()
    top = [line for line in lines if line.startswith('  "')]
    assert top[:-1] == sorted(top[:-1])
    assert top[-1].startswith('  "manifest_sha256": ')


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda f: f.pop("backend"), 'the manifest: no key "backend"; deploy the model again'),
        (lambda f: f.pop("schema_version"), "schema_version is None; this zooport reads version 2"),
        (lambda f: f.update(schema_version=3), "schema_version is 3; .*update zooport, or deploy the model again"),
        (lambda f: f.update(schema_version=0), "schema_version is 0"),
        (lambda f: f.update(schema_version="1"), "schema_version is '1'"),
        (lambda f: f.update(schema_version=True), "schema_version is True"),
        (lambda f: f.update(opset="20"), 'opset: got "20", expected integer'),
        (lambda f: f.update(opset=True), "opset: got true, expected integer"),
        (
            lambda f: f.update(task_options={"image_masks": 1}),
            "task_options.image_masks: got 1, expected boolean or string or array",
        ),
        (lambda f: f.update(task_options=True), "task_options: got true, expected object"),
        (lambda f: f.update(backened="x"), 'unknown key "backened"; nearest: "backend"'),
        (lambda f: f.update(classes=[]), "classes: got none, expected one or more"),
        (lambda f: f["classes"][1].update(name=None), r"classes\[1\].name: got null, expected string"),
        (lambda f: f["classes"][1].pop("category_id"), r'classes\[1\]: no key "category_id"'),
        (lambda f: f["preprocess"].update(resize="crop"), 'preprocess.resize: got "crop", expected one of "letterbox"'),
        (lambda f: f["preprocess"].update(size=[64]), "preprocess.size: got 1 items, expected 2 to 2"),
        (lambda f: f["preprocess"].update(size=None), "got size None with resize"),
        (
            lambda f: f["inputs"][0].update(shape=["N", 3.5]),
            r"inputs\[0\].shape\[1\]: got 3.5, expected integer or str",
        ),
        (lambda f: f.update(axes={}), 'tensor images has the dynamic axis "N" with no bounds in axes'),
        (lambda f: f["axes"]["N"].update(min=9), "axis range 9:2:8: expected 1 <= min <= opt <= max"),
        (lambda f: f["axes"]["N"].update(min=0), "axes.N.min: got 0, expected 1 to any"),
        (lambda f: f["parity"].update(verdict="fine"), 'parity.verdict: got "fine", expected one of "passed"'),
        (
            lambda f: f["files"]["model.onnx"].update(sha256="00"),
            r'files.model.onnx.sha256: got "00", expected a match',
        ),
        (lambda f: f["checkpoint"].update(path="/home/me/x.pth"), 'unknown key "checkpoint.path"; nearest: "sha256"'),
        (lambda f: f.update(checkpoint={"sha256": "x"}), 'checkpoint.sha256: got "x", expected a match'),
        (lambda f: f.update(files={}), "files: got nothing, expected 1 or more"),
        (lambda f: f.update(rewriters=[{"name": "x", "reason": "y", "hits": 0}]), r"rewriters\[0\].hits: got 0"),
    ],
)
def test_wrong_manifests(manifest: Manifest, tmp_path: Path, edit: Callable[[dict[str, Any]], Any], words: str) -> None:
    (tmp_path / "deployment.json").write_bytes(manifest_text(edited(manifest, edit)))
    with pytest.raises(InputError, match=words) as caught:
        Manifest.read(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../model.onnx", "a/../../b", "..", ".", "a//b", "C:/x", "a\\b", "", "a/"]
)
def test_files_stay_inside_the_folder(manifest: Manifest, name: str) -> None:
    record = manifest.files["model.onnx"]
    fields = edited(manifest, lambda fields: fields.update(files={name: record}))
    with pytest.raises(InputError, match=r"is not that of a file inside the folder"):
        Manifest.from_dict(fields)


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data", "parts/..weights", ".hidden"])
def test_names_of_files(manifest: Manifest, name: str) -> None:
    Manifest.from_dict(edited(manifest, lambda fields: fields.update(files={name: manifest.files["model.onnx"]})))


def test_several_faults_are_reported_together(manifest: Manifest) -> None:
    fields = {"schema_version": 1, "name": 5}
    with pytest.raises(InputError, match=r'no key "axes"; the manifest: no key "backend"; .*\(and \d+ more\)'):
        Manifest.from_dict(fields)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"schema_version": 1,', r"deployment.json: not a JSON file \(Expecting property name.*line 1"),
        (b"\xff\xfe\x00", "deployment.json: not a JSON file"),
        (b"[1, 2]", "deployment.json: got a JSON list, expected an object"),
        (b"", "not a JSON file"),
    ],
)
def test_files_that_are_no_manifest(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "deployment.json").write_bytes(content)
    with pytest.raises(InputError, match=words):
        Manifest.read(tmp_path)


def test_every_flipped_bit_is_refused(manifest: Manifest, tmp_path: Path) -> None:
    content = manifest.write(tmp_path).read_bytes()
    assert Manifest.from_bytes(content) == manifest
    changed = bytearray(content)
    for bit in range(8 * len(content)):
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(InputError):
            Manifest.from_bytes(bytes(changed))
        changed[bit // 8] ^= 1 << bit % 8
    assert changed == content


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace(b'"opset": 20', b'"opset": 21'),
        lambda text: text.replace(b"  ", b"\t", 1),
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text + b"\n",
        lambda text: text.rstrip(),
        lambda text: text.replace(b"0000", b"0001"),
        lambda text: text[: text.rindex(b",")] + b"\n}\n",
        lambda text: json.dumps(json.loads(text)).encode(),
        lambda text: text.replace(b'"schema_version": 2', b'"schema_version": 1'),
    ],
)
def test_an_edit_by_hand_is_refused_with_what_to_do(
    manifest: Manifest, tmp_path: Path, edit: Callable[[bytes], bytes]
) -> None:
    path = manifest.write(tmp_path)
    path.write_bytes(edit(path.read_bytes()))
    with pytest.raises(
        InputError, match=r"was edited or damaged after .*copy the deployment again, or deploy"
    ) as caught:
        Manifest.read(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "provider, threads" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_schema_version_before_has_no_digest(manifest: Manifest, tmp_path: Path) -> None:
    before = {key: value for key, value in manifest.to_dict().items() if key not in NEW_KEYS} | {"schema_version": 1}
    path = tmp_path / "deployment.json"
    path.write_text(json.dumps(before, indent=2))
    read = Manifest.read(tmp_path)
    assert read == replace(manifest, schema_version=1)
    read.write(tmp_path)
    assert Manifest.read(tmp_path) == manifest
    path.write_bytes(manifest_text(before))
    with pytest.raises(InputError, match='unknown key "manifest_sha256" in schema_version 1'):
        Manifest.read(tmp_path)
    path.write_text(json.dumps({**before, "manifest_sha25v": "0" * 64}))
    with pytest.raises(InputError, match='unknown key "manifest_sha25v"'):
        Manifest.read(tmp_path)


def test_a_folder_without_manifest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no deployment.json; give the folder that zooport deploy wrote"):
        Manifest.read(tmp_path)
    (tmp_path / "deployment.json").mkdir()
    with pytest.raises(InputError, match=r"deployment.json: is a folder, expected a regular file"):
        Manifest.read(tmp_path)


def test_faults_are_found_before_writing(manifest: Manifest, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"manifest of fcn_r18_digits: precision.*computed.*; correct the field"):
        replace(manifest, precision={"stored": "fp32"}).write(tmp_path)
    assert not (tmp_path / "deployment.json").exists()


def test_changed_files_are_found(manifest: Manifest, tmp_path: Path) -> None:
    manifest.verify(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"Weights")
    with pytest.raises(
        InputError, match=r"model.onnx: got sha256 \w{64}, expected \w{64} \(deployment.json\); the file c"
    ):
        manifest.verify(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"weight")
    with pytest.raises(InputError, match=r"model.onnx: got bytes 6, expected 7 .*copy the deployment again, or deploy"):
        manifest.verify(tmp_path)
    (tmp_path / "model.onnx").unlink()
    with pytest.raises(InputError, match=r"model.onnx: cannot be read \(No such file or directory\)"):
        manifest.verify(tmp_path)


def test_the_published_schema_is_the_one_that_is_checked() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == MANIFEST_SCHEMA, (
        "write it again: python -m zoo.manifest_schema > docs/deployment.schema.json"
    )


def test_a_real_validator_agrees(manifest: Manifest, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
    jsonschema.Draft202012Validator.check_schema(MANIFEST_SCHEMA)
    assert not list(validator.iter_errors(manifest.to_dict()))
    for key in manifest.to_dict():
        for wrong in (None, 5, -1, "x", [], {}, [5], {"x": 5}, {"x": None}, True):
            fields = edited(manifest, lambda fields, key=key, wrong=wrong: fields.update({key: wrong}))
            assert validator.is_valid(fields) == (not list(schema_errors(fields))), (key, wrong)
        fields = manifest.to_dict()
        del fields[key]
        assert validator.is_valid(fields) == (not list(schema_errors(fields))) == (key in ("checkpoint", "config"))
    assert validator.is_valid(json.loads(manifest.write(tmp_path).read_bytes())), "with the digest"
