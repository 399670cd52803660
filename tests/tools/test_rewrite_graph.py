"""tools/rewrite_graph.py: steps, the comparison, what is written, and one line for each mistake."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import onnx
import pytest

from tests.rewriters.graph_rewriters.graphs import model
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run

GRAPH = """g (float[batch, 3] x) => (float[batch, 3] y) <float[3] w = {1, 2, 3}>
    { a = Identity(x)  v = Neg(w)  b = Add(a, v)  y = LeakyRelu(b) }"""
Rewrite = Callable[..., Run]


@pytest.fixture
def rewrite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Rewrite:
    """Run the tool in a folder where a.onnx is a small graph."""
    onnx.save(model(GRAPH), tmp_path / "a.onnx")
    monkeypatch.chdir(tmp_path)
    run = in_this_process("rewrite", capsys)
    return lambda *arguments: run(arguments)


def test_steps_in_order(rewrite: Rewrite, tmp_path: Path) -> None:
    steps = ["--step", "fold_constants", "max_bytes=64", "--step", "drop_identities"]
    done = rewrite("a.onnx", "b.onnx", *steps, "--json", "done.json")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()[4:]
    assert lines == [
        "fold_constants: folded Neg v into v [3]",
        "fold_constants: dropped 1 nodes and initializers that nothing reads",
        "drop_identities: dropped Identity a",
        "nodes: 4 before, 2 after",
        "same numbers in ONNX Runtime at batch=1 and batch=3; largest difference 0.0e+00",
        "b.onnx",
    ]
    assert [node.op_type for node in onnx.load(tmp_path / "b.onnx").graph.node] == ["Add", "LeakyRelu"]
    data = json.loads((tmp_path / "done.json").read_text(encoding="utf-8"))
    assert data["nodes"] == {"before": 4, "after": 2}
    assert data["comparison"]["same"] is True
    assert [step["name"] for step in data["steps"]] == ["fold_constants", "drop_identities"]


def test_a_second_time_nothing_changes(rewrite: Rewrite, tmp_path: Path) -> None:
    props = "props={'version': '1.0', 'task': 'detect'}"
    assert rewrite("a.onnx", "b.onnx", "--step", "set_metadata", props).code == 0
    done = rewrite("b.onnx", "c.onnx", "--step", "set_metadata", props)
    assert "set_metadata: nothing to do" in done.out
    assert (tmp_path / "b.onnx").read_bytes() == (tmp_path / "c.onnx").read_bytes()


def test_numbers_that_change_on_purpose(rewrite: Rewrite) -> None:
    done = rewrite("a.onnx", "b.onnx", "--step", "replace_op", "op_type=LeakyRelu", "new_op_type=Elu")
    assert done.code == 0
    assert "other numbers, as the steps may give: output y differs by " in done.out
    assert "at batch=1; largest difference " in done.out
    done = rewrite("a.onnx", "b.onnx", "--step", "cast_precision")
    assert done.code == 0
    assert "largest difference " in done.out


def test_numbers_that_change_by_a_fault(rewrite: Rewrite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewriters.checks.same_numbers.TOLERANCE", -1.0)
    done = rewrite("a.onnx", "b.onnx", "--step", "drop_identities")
    assert done.code == 3
    assert done.err.startswith("error: a.onnx: the rewritten graph computes something else: output y differs by ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.onnx"]


def test_custom_nodes_are_not_run(rewrite: Rewrite) -> None:
    step = ["--step", "replace_op", "op_type=LeakyRelu", "new_op_type=Plugin", "domain=my"]
    assert "largest" not in rewrite("a.onnx", "b.onnx", *step).out
    done = rewrite("b.onnx", "c.onnx", "--step", "drop_identities")
    assert done.code == 0
    assert "not run: custom nodes my::Plugin" in done.out


def test_long_lists_are_cut(rewrite: Rewrite, tmp_path: Path) -> None:
    chain = " ".join(f"v{n + 1} = Identity(v{n})" for n in range(25))
    onnx.save(model(f"g (float[n] x) => (float[n] y) {{ v0 = Relu(x) {chain} y = Neg(v25) }}"), tmp_path / "a.onnx")
    assert "drop_identities: and 5 more\n" in rewrite("a.onnx", "b.onnx", "--step", "drop_identities").out
    assert "more" not in rewrite("a.onnx", "b.onnx", "--step", "drop_identities", "-v").out


def test_the_list(rewrite: Rewrite, tmp_path: Path) -> None:
    done = rewrite("--list", "--json", "list.json")
    assert done.code == 0
    assert "replace_op: Make every node of one operator, of any domain, a node of another" in done.out
    assert "    max_bytes: int; default 1048576\n" in done.out
    assert "    op_type: str; required\n" in done.out
    names = [one["name"] for one in json.loads((tmp_path / "list.json").read_text(encoding="utf-8"))["rewriters"]]
    assert "simplify" in names


FOLD = ("--step", "fold_constants")
WRONG = [
    ((), "give IN, OUT and at least one --step NAME, or --list"),
    (("a.onnx", "b.onnx"), "give IN, OUT and at least one --step NAME, or --list"),
    (("no.onnx", "b.onnx", *FOLD), "no.onnx: no such file; give an ONNX file"),
    (("folder", "b.onnx", *FOLD), "folder: not a file; give an ONNX file"),
    (("text", "b.onnx", *FOLD), "text: not an ONNX file, or cut off"),
    (("empty", "b.onnx", *FOLD), "empty: not an ONNX file, or cut off"),
    (("cut", "b.onnx", *FOLD), "cut: not an ONNX file, or cut off"),
    (("unsound", "b.onnx", *FOLD), "unsound: onnx.checker refuses it: "),
    (("a.onnx", "folder", *FOLD), "folder: not a file in an existing folder; give one"),
    (("a.onnx", "no/b.onnx", *FOLD), "no/b.onnx: not a file in an existing folder; give one"),
    (("a.onnx", "./a.onnx", *FOLD), "a.onnx: it is the input, and would be lost; give another OUT"),
    (("a.onnx", "link", *FOLD), "link: it is the input, and would be lost; give another OUT"),
    (("a.onnx", "b.onnx", "--step", "fold"), 'unknown graph rewriter "fold"; nearest: "fold_constants"'),
    (("a.onnx", "b.onnx", *FOLD, "max=1"), 'fold_constants: unknown option "max"; nearest: "max_bytes"'),
    (("a.onnx", "b.onnx", *FOLD, "max_bytes=many"), "option max_bytes is 'many', expected int"),
    (("a.onnx", "b.onnx", *FOLD, "max_bytes"), '--step fold_constants: "max_bytes" is not OPTION=VALUE'),
    (("a.onnx", "b.onnx", *FOLD, "max_bytes=1", "max_bytes=2"), "--step fold_constants: max_bytes is given twice"),
    (("a.onnx", "b.onnx", "--step", "replace_op", "op_type=A"), "option new_op_type is missing"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[words[:40] for _, words in WRONG])
def test_one_line_for_a_mistake(rewrite: Rewrite, tmp_path: Path, arguments: Sequence[str], words: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no model", encoding="utf-8")
    (tmp_path / "empty").touch()
    (tmp_path / "cut").write_bytes((tmp_path / "a.onnx").read_bytes()[:-20])
    (tmp_path / "link").symlink_to("a.onnx")
    unsound = model(GRAPH)
    del unsound.graph.node[0]
    (tmp_path / "unsound").write_bytes(unsound.SerializeToString())
    before = (tmp_path / "a.onnx").read_bytes()
    done = rewrite(*arguments)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert words in done.err
    assert (tmp_path / "a.onnx").read_bytes() == before
    assert not (tmp_path / "b.onnx").exists()


def test_a_refusal_of_a_rewriter(rewrite: Rewrite, tmp_path: Path) -> None:
    done = rewrite("a.onnx", "b.onnx", "--step", "replace_op", "op_type=Gelu", "new_op_type=Relu")
    assert (done.code, done.err) == (
        5,
        f"error: {NO_GELU}",
    )
    assert not (tmp_path / "b.onnx").exists()


NO_GELU = 'replace_op: the graph has no Gelu, and no Relu either; nearest: "LeakyRelu", "Neg", "Identity"\n'


def test_a_place_that_cannot_be_written(rewrite: Rewrite, tmp_path: Path) -> None:
    place = Path("/sys/kernel")
    if not place.is_dir():
        pytest.skip("no /sys on this system")
    done = rewrite("a.onnx", str(place / "b.onnx"), *FOLD)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "/sys/kernel/b.onnx: cannot be written" in done.err


def test_a_tensor_that_is_named_like_a_number(rewrite: Rewrite, tmp_path: Path) -> None:
    graph = model("small (float[4] x) => (float[4] y) { t12 = Relu(x)  y = Neg(t12) }")
    for node in graph.graph.node:
        for side in (node.input, node.output):
            side[:] = ["12" if name == "t12" else name for name in side]
    onnx.save(graph, tmp_path / "m.onnx")
    done = rewrite("m.onnx", "out.onnx", "--step", "extract_submodel", "outputs=12")
    assert (done.code, done.err) == (0, "")
    assert [value.name for value in onnx.load(tmp_path / "out.onnx").graph.output] == ["12"]


def test_out_that_is_no_plain_file_is_not_replaced(rewrite: Rewrite, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = rewrite("a.onnx", "pipe", "--step", "drop_identities")
    assert (done.code, done.err) == (2, "error: pipe: not a file in an existing folder; give one\n")
    (tmp_path / "target.onnx").write_bytes(b"old")
    (tmp_path / "link.onnx").symlink_to("target.onnx")
    assert rewrite("a.onnx", "link.onnx", "--step", "drop_identities").code == 0
    assert (tmp_path / "link.onnx").is_symlink()
    assert len(onnx.load(tmp_path / "target.onnx").graph.node) == 3
