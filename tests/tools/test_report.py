"""tools/report.py on tiny deployments: two side by side, a whole folder, and what is refused."""

import json
import shutil
import webbrowser
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run, Tiny
from zooport.open_page import open_page

Tool = Callable[[Sequence[str]], Run]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Tool:
    """Run zooport report in this process."""
    return in_this_process("report", capsys)


@pytest.mark.usefixtures("deployment")
def test_two_side_by_side(report: Tool, deploy: Tool, tiny: Tiny, tmp_path: Path) -> None:
    assert deploy(tiny.with_images("--opset", "18")).code == 0
    two = [tiny.place, tiny.place.parent / "onnxruntime-fp32-opset18"]
    out, data = tmp_path / "both.html", tmp_path / "both.json"
    run = report([*map(str, two), "--out", str(out), "--json", str(data)])
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines()[0] == "Parity of both: passed."
    assert run.out.splitlines()[1] == "Both have the same weights."
    assert run.out.splitlines()[-1] == f"report: {out}"
    content = json.loads(data.read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in content["groups"][0]["rows"]}
    assert (rows["opset"]["first"], rows["opset"]["second"], rows["opset"]["same"]) == ("17", "18", False)
    assert rows["backend"]["same"]
    text = out.read_text(encoding="utf-8")
    assert text.count('src="data:image/webp;base64,') == 4
    assert text.count("none, the two drawings are equal") == 2
    assert content["different"] == sum(not row["same"] for group in content["groups"][:-1] for row in group["rows"])
    assert content["groups"][-1]["varies"]
    assert {"export", "deployed (UTC)"} <= {row["name"] for row in content["groups"][-1]["rows"]}


def test_copies_and_a_whole_folder(
    report: Tool, deploy: Tool, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert deploy(tiny.with_images("--open")).code == 0
    assert opened == [(tiny.place / "report.html").as_uri()]
    opened.clear()

    copy = tiny.place.parent / "copy"
    shutil.copytree(tiny.place, copy)
    data = tmp_path / "both.json"
    run = report([str(tiny.place), str(copy), "--out", str(tmp_path / "a.html"), "--json", str(data)])
    assert "model.onnx is the same, byte for byte." in run.out
    assert json.loads(data.read_text(encoding="utf-8"))["different"] == 0
    assert "Nothing differs" in (tmp_path / "a.html").read_text(encoding="utf-8")

    parity = json.loads((copy / "parity.json").read_text(encoding="utf-8"))
    parity["metric"] = [{"name": "mIoU", "unit": "points", "value": None, "reference": 50.0}]  # nothing to judge
    (copy / "parity.json").write_text(json.dumps(parity), encoding="utf-8")
    assert report([str(tiny.place), str(copy), "--out", str(tmp_path / "b.html")]).code == 0
    assert "could not be read" not in report(["--zoo", str(tiny.work_dir)]).out

    (copy / "parity.json").write_text("{", encoding="utf-8")
    shutil.copytree(tiny.place, tiny.work_dir / ".onnxruntime-fp32.zooport-new")  # a deploy that still runs
    data = tmp_path / "zoo.json"
    run = report(["--zoo", str(tiny.work_dir), "--json", str(data), "--open"])
    page = tiny.work_dir / "zoo.html"
    assert (run.code, run.err) == (0, "")
    assert "1 passed\n" in run.out
    assert f"could not be read: {copy / 'parity.json'}: not a JSON file" in run.out
    assert opened == [page.as_uri()]
    (row,) = json.loads(data.read_text(encoding="utf-8"))["deployments"]
    assert (row["name"], row["verdict"], row["folder"]) == (
        "tiny",
        "passed",
        "semantic-segmentation/tiny/onnxruntime-fp32",
    )
    assert row["latency"]["backend"] > 0
    assert datetime.fromisoformat(row["deployed"]).utcoffset() == timedelta(0)
    text = page.read_text(encoding="utf-8")
    assert text.count('<img src="data:image/webp;base64,') == 1
    assert f'<time datetime="{row["deployed"]}">{row["deployed"][:10]}</time>' in text
    assert 'href="semantic-segmentation/tiny/onnxruntime-fp32/report.html"' in text
    assert "not a JSON file" in text


def test_what_is_refused_in_one_line(report: Tool, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments, words in (
        ([], "got 0 deployments, expected two, or --zoo FOLDER"),
        (["a"], "got 1 deployments, expected two, or --zoo FOLDER"),
        (["a", "--zoo", "b"], "--zoo and deployments are two pages; give one of them"),
        ([str(empty), str(empty), "--out", str(tmp_path / "a.html")], "no deployment.json; give the folder that"),
        (["--zoo", str(empty)], "no deployment in it or below it"),
        (["--zoo", str(tmp_path / "none")], "no such folder"),
        (["--zoo", str(tmp_path / "none"), "--out", str(tmp_path / "a.html")], "no such folder"),
        (["--zoo", str(empty), "--out", str(tmp_path / "none" / "a.html")], "not a file in an existing folder"),
    ):
        run = report(arguments)
        assert run.code == 2
        assert run.out == ""
        assert words in run.err
        assert run.err.count("\n") == 1
    assert not (tmp_path / "a.html").exists()


def test_help_has_an_example(report: Tool) -> None:
    assert "zooport report --zoo work_dirs" in report(["--help"]).out


def test_where_there_is_no_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from rich.console import Console

    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    console = Console(width=20, record=True)
    assert not open_page(console, tmp_path / "report.html")
    assert console.export_text() == f"no browser was found here; open {tmp_path / 'report.html'} by hand\n"
