"""The folder of a large run: what is finished, what may continue, and what is refused."""

import json
from pathlib import Path

import pytest

from backends.scale.blocks import in_blocks
from backends.scale.inputs import Inputs
from backends.scale.prediction import Extent, extent, held
from backends.scale.run_folder import PLAN, SETTINGS, RunFolder, part_name
from zoo.errors import InputError

RUN = {"deployment": {"model.onnx": "abc"}, "score": None}
BLOCKS = list(in_blocks([Inputs("", f"/{number}", f"{number}") for number in range(10)], 4))


@pytest.fixture(params=["path", "uri"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """As it is named, and where it is."""
    folder = tmp_path / "results.parquet"
    return (str(folder) if request.param == "path" else folder.as_uri()), folder


def test_a_run_continues_with_its_plan(place: tuple[str, Path]) -> None:
    out, folder = place
    run = RunFolder(out, RUN, resume=False)
    assert not folder.exists()
    assert (run.begun, run.finished) == (False, set())
    run.begin(iter(BLOCKS))
    assert list(run.blocks()) == BLOCKS
    (folder / "part-00000002.parquet").write_bytes(b"")
    (folder / ".0123abcd.part-00000001.parquet").write_bytes(b"half")
    again = RunFolder(out, RUN, resume=True)
    assert (again.begun, again.finished, list(again.blocks())) == (True, {2}, BLOCKS)
    left = [] if out == str(folder) else [".0123abcd.part-00000001.parquet"]  # it may be that of a run elsewhere
    with held(again):
        assert sorted(path.name for path in folder.iterdir()) == [*left, PLAN, SETTINGS, part_name(2)]


def test_what_an_earlier_run_has_finished_is_counted(place: tuple[str, Path]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out, folder = place
    RunFolder(out, RUN, resume=False).begin(iter(BLOCKS))
    table = pa.table({"fault": ["x", None]}).replace_schema_metadata({"zooport.faults": "1"})
    pq.write_table(table, folder / part_name(2))
    assert extent(RunFolder(out, RUN, resume=True)) == Extent(10, 3, 2, 1)
    (folder / part_name(1)).write_bytes(b"no file of Parquet")
    with pytest.raises(InputError, match="part-00000001.parquet: is damaged .* remove it, and continue with --resume"):
        extent(RunFolder(out, RUN, resume=True))


def test_what_is_there_is_never_overwritten(place: tuple[str, Path]) -> None:
    out, folder = place
    RunFolder(out, RUN, resume=False).begin(iter(BLOCKS))
    with pytest.raises(InputError, match="exists already; continue with --resume, or give another folder"):
        RunFolder(out, RUN, resume=False)
    with pytest.raises(InputError, match="was started with another score; give the same, or start again"):
        RunFolder(out, RUN | {"score": 0.5}, resume=True)
    with pytest.raises(InputError, match="was started with another block size; give the same"):
        RunFolder(out, RUN | {"block_size": 3}, resume=True)
    (folder / SETTINGS).write_text("[")
    with pytest.raises(InputError, match=f"{SETTINGS}: is damaged .* start again in another folder"):
        RunFolder(out, RUN, resume=True)
    (folder / SETTINGS).unlink()
    (folder / "letter.txt").write_text("dear")
    for resume in (False, True):
        with pytest.raises(InputError, match="exists already; give another folder"):
            RunFolder(out, RUN, resume=resume)
    assert (folder / "letter.txt").read_text() == "dear"


def test_a_run_that_was_killed_before_it_began_starts_again(place: tuple[str, Path]) -> None:
    out, folder = place
    folder.mkdir()
    (folder / PLAN).write_bytes(b"half")
    assert not RunFolder(out, RUN, resume=True).begun
    RunFolder(out, RUN, resume=False).begin(iter(BLOCKS))
    assert json.loads((folder / SETTINGS).read_text()) == RUN


def test_a_file_and_a_damaged_plan(place: tuple[str, Path]) -> None:
    out, folder = place
    folder.write_text("a file")
    with pytest.raises(InputError, match="is a file, and --engine ray writes a folder of files; give another name"):
        RunFolder(out, RUN, resume=False)
    folder.unlink()
    run = RunFolder(out, RUN, resume=False)
    run.begin(iter(BLOCKS))
    (folder / PLAN).write_bytes(b"no plan")
    with pytest.raises(InputError, match=f"{PLAN}: is damaged .* start again in another folder"):
        list(run.blocks())


def test_a_run_that_began_after_the_first_look_is_not_mixed_with(place: tuple[str, Path]) -> None:
    """A cluster is started between the first look and the lock, which takes seconds."""
    out, folder = place
    late, later = (RunFolder(out, RUN | {"score": 0.5}, resume=resume) for resume in (False, True))
    other = RunFolder(out, RUN, resume=False)
    with held(other):
        other.begin(iter(BLOCKS))
    with (
        pytest.raises(InputError, match="exists already; continue with --resume, or give another folder"),
        held(late),
    ):
        pass
    with pytest.raises(InputError, match="was started with another score"), held(later):
        pass
    assert json.loads((folder / SETTINGS).read_text()) == RUN


def test_what_changed_after_the_first_look_is_seen(place: tuple[str, Path]) -> None:
    out, folder = place
    early = RunFolder(out, RUN, resume=True)
    RunFolder(out, RUN, resume=False).begin(iter(BLOCKS))
    with pytest.raises(InputError, match="was changed by another process; start the command again"), held(early):
        pass
    again = RunFolder(out, RUN, resume=True)
    (folder / part_name(1)).write_bytes(b"")
    with held(again):
        assert again.finished == {1}


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    run = RunFolder(out, RUN, resume=False)
    with (
        held(run),
        pytest.raises(InputError, match="another run is writing into it; wait until it has ended"),
        held(RunFolder(out, RUN, resume=False)),
    ):
        pass
