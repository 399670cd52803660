"""Files of a deployment that are not what they should be: no load hangs, and nothing is loaded that was not hashed."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from backends import load
from backends.external_data import external_files
from backends.onnxruntime import held_model
from backends.tensorrt.backend import TensorRT
from pipeline.report.recorded import read_recorded
from tests.backends.twins import numbers, write_twin
from zoo import opened_file
from zoo.errors import InputError
from zoo.manifest import Manifest, file_record
from zoo.manifest_text import manifest_text
from zoo.opened_file import OpenedFile

PATIENCE = 20  # seconds; an error takes milliseconds
FILES = ("deployment.json", "model.onnx", "model.engine", "model.engine.json")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("backends.loading.require", lambda backend: None)
    return write_twin(tmp_path / "place", 1, "engine")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def folder_instead(path: Path) -> None:
    path.mkdir()


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


def ended(work: Callable[[], object]) -> BaseException | None:
    """What `work` raised; fails where it does not end."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it hangs"
    return raised[0] if raised else None


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (pipe, "is a pipe, expected a regular file"),
        (link_to("/dev/zero"), "is a device, expected a regular file"),
        (folder_instead, "is a folder, expected a regular file"),
        (link_to("nowhere"), "cannot be read (No such file or directory)"),
        (sparse, "1099511627776"),
    ],
    ids=["pipe", "device", "folder", "link to nothing", "1 TiB"],
)
def test_another_kind_of_file(folder: Path, name: str, make: Callable[[Path], None], words: str) -> None:
    (folder / name).unlink()
    make(folder / name)
    error = ended(lambda: load(folder))
    assert isinstance(error, InputError)
    assert str(error).startswith(f"{folder / name}: ")
    assert words in str(error)
    assert "\n" not in str(error)


def test_no_engine_is_opened_beside_a_file_of_another_size(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine's own check would read the whole file."""
    monkeypatch.setattr(TensorRT, "open", lambda *_: pytest.fail("opened"))
    (folder / "model.onnx").unlink()
    sparse(folder / "model.onnx")
    with pytest.raises(InputError, match="got bytes 1099511627776"):
        load(folder)


@pytest.mark.parametrize("make", [pipe, link_to("/dev/zero"), sparse])
def test_what_reports_read(folder: Path, make: Callable[[Path], None]) -> None:
    make(folder / "parity.json")
    error = ended(lambda: read_recorded(folder))
    assert isinstance(error, InputError)
    assert str(error).startswith(f"{folder / 'parity.json'}: ")


def test_a_socket(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # a socket's path is short
    (folder / "model.onnx").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("model.onnx")
        with pytest.raises(InputError, match="is a socket, expected a regular file"):
            load(folder)


def test_a_pipe_that_takes_the_place_after_the_look(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = opened_file._check_kind

    def swap(path: Path, found: os.stat_result) -> None:
        check(path, found)
        if not path.is_fifo():
            path.unlink()
            pipe(path)

    monkeypatch.setattr(opened_file, "_check_kind", swap)
    error = ended(lambda: OpenedFile(folder / "model.onnx"))
    assert isinstance(error, InputError)
    assert "is a pipe" in str(error)


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    place = write_twin(tmp_path / "place", 1, "onnxruntime")
    (place / "model.onnx").rename(tmp_path / "elsewhere.onnx")
    (place / "model.onnx").symlink_to(tmp_path / "elsewhere.onnx")
    with load(place) as model:
        assert numbers(model) == (1, 1)


def renamed(place: Path, name: str) -> None:
    """The ONNX file reads its weights from `name`; its hash is right."""
    model = onnx.load(place / "model.onnx", load_external_data=False)
    for tensor in model.graph.initializer:
        tensor.external_data[0].value = name
    (place / "model.onnx").write_bytes(model.SerializeToString())
    listed(place, "model.onnx", "parts/weights")


class TestExternalData:
    @pytest.fixture(params=["descriptors", "no /proc"], autouse=True)
    def _each_system(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        if request.param != "descriptors":
            monkeypatch.setattr(opened_file, "DESCRIPTORS", "/nowhere/fd")

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        """A deployment whose weights are in parts/weights; listed in the manifest."""
        place = write_twin(tmp_path / "place", 2, "onnxruntime")
        (place / "parts").mkdir()
        move_weights(place, "parts/weights")
        listed(place, "model.onnx", "parts/weights")
        return place

    def test_what_is_listed_is_loaded(self, place: Path) -> None:
        with load(place) as model:
            assert numbers(model) == (2, 2)

    def test_other_weights_have_engines_of_their_own(self, place: Path) -> None:
        hashes = set()
        weights = place / "parts/weights"
        for content in (weights.read_bytes(), bytes(weights.stat().st_size)):
            weights.write_bytes(content)
            with OpenedFile(place / "model.onnx") as file, OpenedFile(weights) as opened:
                hashes.add(held_model.HeldModel(file, {"parts/weights": opened}).sha256())
        assert len(hashes) == 2

    def test_the_folder_itself_may_be_in_a_name(self, place: Path) -> None:
        renamed(place, "./parts/weights")
        with load(place) as model:
            assert numbers(model) == (2, 2)

    def test_what_is_not_listed_is_refused(self, place: Path) -> None:
        listed(place, "model.onnx")
        with pytest.raises(InputError, match=r"model\.onnx: reads weights from 'parts/weights', which is not among"):
            load(place)

    def test_what_changed_is_refused(self, place: Path) -> None:
        content = bytearray((place / "parts/weights").read_bytes())
        content[-1] ^= 1
        (place / "parts/weights").write_bytes(content)
        with pytest.raises(InputError, match=r"parts/weights: got sha256 \w{64}, expected \w{64}"):
            load(place)

    def test_a_pipe_is_refused(self, place: Path) -> None:
        (place / "parts/weights").unlink()
        pipe(place / "parts/weights")
        error = ended(lambda: load(place))
        assert isinstance(error, InputError)
        assert "parts/weights: is a pipe" in str(error)

    @pytest.mark.parametrize("name", ["/etc/passwd", "../weights", "5", "", "*/_ORT_MEM_ADDR_/*"])
    def test_names_outside(self, place: Path, name: str) -> None:
        renamed(place, name)
        with pytest.raises(InputError, match=r"model\.onnx: reads weights from .*, which is not among the files"):
            load(place)

    def test_engines_of_providers_are_known_by_the_files_name(self, place: Path) -> None:
        manifest = Manifest.read(place)
        with OpenedFile(place / "model.onnx") as file, OpenedFile(place / "parts/weights") as weights:
            model = held_model.HeldModel(file, dict.fromkeys(manifest.files, weights))
            settings = held_model.onnxruntime.SessionOptions()
            with model.source(settings, named=True) as source:
                if file.link is not None:
                    assert Path(str(source)).name == "model.onnx"
                    assert Path(str(source)).read_bytes() == (place / "model.onnx").read_bytes()
                else:
                    assert source == (place / "model.onnx").read_bytes()


def listed(place: Path, *names: str) -> None:
    """The manifest's files."""
    fields = json.loads((place / "deployment.json").read_bytes())
    fields["files"] = {name: file_record(place / name) for name in names}
    (place / "deployment.json").write_bytes(manifest_text(fields))


def move_weights(place: Path, name: str) -> None:
    model = onnx.load(place / "model.onnx")
    with (place / name).open("wb") as file:
        for tensor in model.graph.initializer:
            raw = onnx.numpy_helper.to_array(tensor).tobytes()
            where = {"location": name, "offset": str(file.tell()), "length": str(len(raw))}
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in where.items():
                tensor.external_data.add(key=key, value=value)
            file.write(raw)
    (place / "model.onnx").write_bytes(model.SerializeToString())


def external(name: str) -> onnx.TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=name)
    return tensor


def graph_of(name: str) -> onnx.GraphProto:
    return helper.make_graph([], "inner", [], [], [external(name)])


def models() -> Iterator[onnx.ModelProto]:
    """Each has its one external tensor in another place, all by the name "here"."""
    values = onnx.SparseTensorProto(
        values=external("here"), indices=onnx.numpy_helper.from_array(np.zeros(1, np.int64))
    )
    node = helper.make_node("Constant", [], ["y"], value=external("here"))
    attributes = (
        {"value": external("here")},
        {"body": graph_of("here")},
        {"many": [external("here")]},
        {"bodies": [graph_of("here")]},
        {"sparse": values},
    )
    for attribute in attributes:
        yield helper.make_model(helper.make_graph([helper.make_node("X", [], ["y"], **attribute)], "g", [], []))
    yield helper.make_model(graph_of("here"))
    yield helper.make_model(helper.make_graph([], "g", [], [], sparse_initializer=[values]))
    function = helper.make_function("d", "f", [], ["y"], [node], [helper.make_opsetid("", 20)])
    yield helper.make_model(helper.make_graph([], "g", [], []), functions=[function])
    training = onnx.TrainingInfoProto(algorithm=graph_of("here"))
    yield onnx.ModelProto(training_info=[training])


@pytest.mark.parametrize("number", range(9))
def test_tensors_anywhere_are_found(tmp_path: Path, number: int) -> None:
    model = list(models())[number]
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with OpenedFile(tmp_path / "m.onnx") as file:
        assert external_files(file, ["here"]) == ["here"]
        with pytest.raises(InputError, match="reads weights from 'here'"):
            external_files(file, [])


def test_the_word_alone_is_no_external_data(tmp_path: Path) -> None:
    model = helper.make_model(helper.make_graph([], "location", [], []), doc_string="location")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with OpenedFile(tmp_path / "m.onnx") as file:
        assert external_files(file, []) == []


@pytest.mark.parametrize(
    "content", [b"location", b"\x3a\xff\xff\xff\x7flocation", b"location\x3a\x80", b"\x3a\x0blocation"]
)
def test_a_damaged_file_is_an_input_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with (
        OpenedFile(tmp_path / "m.onnx") as file,
        pytest.raises(InputError, match="not an ONNX model, or a damaged one"),
    ):
        external_files(file, [])
