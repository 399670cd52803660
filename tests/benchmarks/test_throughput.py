"""benchmarks/throughput.py: one round of a small model. No figure is asserted."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from pathlib import Path
from threading import Thread
from typing import Any

import cv2
import numpy as np
import pytest

from tests.backends.conftest import Recipe, write_deployment

pytestmark = pytest.mark.usefixtures("benchmarks")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A deployment of one layer, which stands in for that of a shipped config."""
    import throughput

    made = write_deployment(tmp_path / "deployment", Recipe())
    monkeypatch.setattr(throughput, "deployed", lambda *_: made)
    return made


@pytest.fixture
def threads(benchmarks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads in the place of processes, which begin in seconds."""
    import throughput

    def served(folder: Path, connection: Any) -> None:
        with suppress(EOFError):
            throughput.serve(folder, connection)

    @contextmanager
    def processes(folder: Path, count: int) -> Iterator[list[Any]]:
        pipes = [Pipe() for _ in range(count)]
        children = [Thread(target=served, args=(folder, theirs)) for _, theirs in pipes]
        for child in children:
            child.start()
        yield [ours for ours, _ in pipes]
        for (ours, _), child in zip(pipes, children, strict=True):
            ours.close()
            child.join()

    monkeypatch.setattr(throughput, "processes", processes)


@pytest.mark.parametrize("by", [pytest.param("processes", marks=pytest.mark.slow), "threads"])
def test_one_round_writes_its_page(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, by: str
) -> None:
    import throughput

    if by == "threads":
        request.getfixturevalue("threads")
    monkeypatch.setattr(throughput.Others, "share", 0.0)
    page = tmp_path / "page.md"
    code = throughput.main(["resnet18", "--rounds", "1", "--seconds", "0", "--page", str(page)])
    (row,) = (line for line in page.read_text(encoding="utf-8").splitlines() if line.endswith(("held |", "missed |")))
    assert code == (0 if row.endswith("held |") else 3)
    assert len(row.split("|")) == len(throughput.HEAD.splitlines()[0].split("|"))


@pytest.mark.usefixtures("threads")
def test_a_busy_machine_writes_no_page(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import throughput

    monkeypatch.setattr(throughput.Others, "share", 0.5)
    page = tmp_path / "page.md"
    assert throughput.main(["resnet18", "--rounds", "1", "--seconds", "0", "--page", str(page)]) == 4
    assert not page.exists()


@pytest.mark.usefixtures("threads")
def test_every_way_is_in_order_and_another_result_is_found(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import throughput

    paths = [str(tmp_path / f"{number}.png") for number in range(6)]
    for number, path in enumerate(paths):
        cv2.imwrite(path, np.full((64, 96, 3), 40 * number, np.uint8))
    row = throughput.measured(folder, paths, 1, 0.05, throughput.Others())
    assert row.images >= 4
    assert set(row.ratios) == {"stream", "submit", "acall", "processes"}
    streamed = throughput.streamed
    monkeypatch.setattr(throughput, "streamed", lambda model, paths: streamed(model, paths)[::-1])
    with pytest.raises(AssertionError, match="stream gives other results, or in another order"):
        throughput.measured(folder, paths, 1, 0.05, throughput.Others())


def test_a_deployment_of_other_sources_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with other flags; what was made before is removed."""
    import measured

    made: list[list[str]] = []

    def deploy(command: list[str], **_: object) -> None:
        folder = tmp_path / f"detection/small/{len(made)}"
        folder.mkdir(parents=True)
        (folder / "deployment.json").write_bytes(b"")
        made.append(command)

    monkeypatch.setattr(measured.subprocess, "run", deploy)
    monkeypatch.setattr(measured, "sources", lambda *_: "abc")
    deployed = [measured.deployed(tmp_path, "small") for _ in range(2)]
    monkeypatch.setattr(measured, "sources", lambda *_: "def")
    deployed += [measured.deployed(tmp_path, "small") for _ in range(2)]
    deployed += [measured.deployed(tmp_path, "small", "--opset", "20")]
    assert [folder.name for folder in deployed] == ["0", "0", "1", "1", "2"]
    assert made[-1][-2:] == ["--opset", "20"]
    assert [path.parent for path in tmp_path.rglob("deployment.json")] == deployed[-1:]


def test_the_files_are_those_of_the_data_set() -> None:
    import throughput
    from measured import of_images, shipped_configs

    assert all(throughput.files(config) for config in shipped_configs(takes=of_images))
    with pytest.raises(SystemExit):
        throughput.main(["no such config"])
