"""Matrix files: what they mean, and everything that is wrong with one in one message."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.regression import load_matrix
from pipeline.regression.cell import Cell, model_names
from zoo.config import load_config
from zoo.config.located import is_address
from zoo.errors import InputError
from zoo.listing import list_models
from zoo.target import EXPORTERS, PRECISIONS

ROOT = Path(__file__).parents[3]
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a matrix beside two configs and a base, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for path in ("configs/a/one.py", "configs/b/two.py", "configs/_base_/base.py", "configs/a/notes.txt"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()

    def made(text: str) -> Path:
        path = Path("nightly.yaml")
        path.write_text(text, encoding="utf-8")
        return path

    return made


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_matrix(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_all_cells_in_order(write: Write) -> None:
    path = write("models: ['configs/**/*.py', configs/a/one.py]\nprecisions: [fp32, fp16]\nlimit: 5\ngate_split: true")
    matrix = load_matrix(path)
    columns = tuple(product(("onnxruntime",), ("fp32", "fp16"), ("dynamo", "torchscript")))
    assert (matrix.name, matrix.models, matrix.columns) == ("nightly", ("one", "two"), columns)
    assert [(cell.model, cell.column) for cell in matrix.cells] == list(product(("one", "two"), columns))
    assert (matrix.limit, matrix.gate_split, matrix.timeout_seconds) == (5, True, 3600)
    assert matrix.cells[0].config == "configs/a/one.py"


def test_exclusions_cover_what_agrees_in_all_that_they_name(write: Write) -> None:
    text = """
models: [configs/a/one.py, configs/b/two.py]
exclude:
  - {model: one, exporter: dynamo, reason: "too
     slow"}
  - {model: configs/b/*, reason: second}
  - {exporter: dynamo, reason: third}
"""
    cells = load_matrix(write(text)).cells
    assert [cell.excluded for cell in cells] == ["too slow", None, "second", "second"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'expected a mapping with the key "models", got None'),
        ("models: [configs/a/one.py", "nightly.yaml, line 1: expected ',' or ']', but got '<stream end>'"),
        ("models: [a]\nlimit: 1\nmodels: [b]", 'keys are given twice: "models" (line 3); keep one of each'),
        ("a: \x00", "not a YAML file"),
        ("a: &x [*x]", 'unknown key "a"; nearest: '),
        ("limit: 1", '"models": is missing'),
        ("models: []", '"models": expected one or more, got none'),
        ("models: configs/a/one.py", "expected a list of strings, got 'configs/a/one.py'; write [configs/a/one.py]"),
        ("models: [configs/a/onne.py]", "config configs/a/onne.py: no such file; nearest: "),
        ("models: ['nowhere/*.py']", '"models": no config matches "nowhere/*.py" in '),
        ("models: ['configs/_base_/*.py']", '"models": no config matches'),
        ("models: [configs/a/notes.txt]", '"configs/a/notes.txt" is not a config; expected a file that ends in .py'),
        ("exporter: [dynamo]", 'unknown key "exporter"; nearest: "exporters"'),
        ("3: x", 'unknown key "3"'),
        ("exporters: [dynam]", '"exporters": unknown "dynam"; nearest: "dynamo"'),
        ("precisions: [16]", '"precisions": expected a list of strings, got [16]'),
        ("backends: [onnxruntime, pytorch]", '"backends": pytorch is the reference that every cell is compared with'),
        ("limit: 0", '"limit": expected an integer, 1 or more, got 0'),
        ("limit: true", '"limit": expected an integer, 1 or more, got True'),
        ("timeout_seconds: soon", "\"timeout_seconds\": expected an integer, 1 or more, got 'soon'"),
        ("gate_split: 1", '"gate_split": expected true or false, got 1'),
        ("exclude: one", '"exclude": expected a list of {model:, exporter:, reason:}'),
        ("exclude: [one]", "\"exclude[0]\": expected {model:, exporter:, reason:}, got 'one'"),
        ("exclude: [{model: one}]", '"exclude[0].reason": is missing'),
        ("exclude: [{model: one, reason: ''}]", "\"exclude[0].reason\": expected text, got ''"),
        ("exclude: [{reason: x}]", '"exclude[0]": names no cells; give one or more of model, backend'),
        ("exclude: [{modell: one, reason: x}]", 'unknown key "exclude[0].modell"; nearest: "model"'),
        ("exclude: [{exporter: dynam, reason: x}]", '"exclude[0].exporter": unknown "dynam"; nearest: "dynamo"'),
        (
            "exclude: [{model: onne, reason: x}]",
            '"exclude[0]": covers no cell of the matrix; correct or remove it; nea',
        ),
        ("exclude: [{backend: tensorrt, reason: x}]", '"exclude[0]": covers no cell of the matrix'),
    ],
)
def test_faults(write: Write, text: str, expected: str) -> None:
    complete = "models" in text or text.startswith(("limit: 1", "a: ")) or not text
    found = message(write(text if complete else f"models: [configs/a/one.py]\n{text}"))
    assert expected in found
    assert found.startswith(("matrix nightly.yaml: ", "nightly.yaml"))


def test_all_faults_in_one_message(write: Write) -> None:
    text = "models: [missing.py]\nbackend: [x]\nlimit: -1\nexporters: [x]\nexclude: [{reason: 3}]"
    found = message(write(text))
    for words in ("missing.py", '"backend"', '"limit"', '"exporters"', '"exclude[0].reason"', "names no cells"):
        assert words in found


def test_a_missing_file_names_the_nearest(write: Write) -> None:
    Path("configs/regression").mkdir()
    Path("configs/regression/shipped.yaml").touch()
    assert 'matrix configs/regression/shiped.yaml: no such file; nearest: "configs/regression/shipped.yaml"' in message(
        Path("configs/regression/shiped.yaml")
    )


def test_shipped_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    matrix = load_matrix("configs/regression/shipped.yaml")
    assert {cell.config for cell in matrix.cells} == {
        path for path in list_models() if not is_address(load_config(path).checkpoint)
    }
    assert {cell.column for cell in matrix.cells} == {("onnxruntime", "fp32", exporter) for exporter in EXPORTERS}
    assert not any(cell.excluded for cell in matrix.cells)
    assert len(load_matrix("configs/regression/small.yaml").cells) == 2
    everything = load_matrix("configs/regression/everything.yaml")
    assert {cell.config for cell in everything.cells} == {cell.config for cell in matrix.cells}
    assert {cell.column for cell in everything.cells} == set(
        product(("onnxruntime", "openvino", "tensorrt-rtx"), PRECISIONS, EXPORTERS)
    )


@given(st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), min_size=1))
def test_names_tell_models_apart(stems: set[str]) -> None:
    configs = [f"{stem}.py" for stem in sorted(stems)]
    names = model_names(configs)
    assert len(set(names.values())) == len(configs)
    for config, name in names.items():
        assert Path(config).resolve().with_suffix("").as_posix().endswith(f"/{name}")
        assert sum(Path(other).stem == Path(config).stem for other in configs) > 1 or "/" not in name
        assert not Path(Cell(config, name, "onnxruntime", "fp32", "dynamo").id).is_absolute()
