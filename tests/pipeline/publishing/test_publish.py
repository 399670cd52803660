"""Publishing: all or nothing, one at a time, and nothing left behind."""

import errno
import os
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipeline.publishing import publish
from pipeline.publishing.publish import is_published, publication
from zoo.errors import ExportError, InputError

HOLD = """
import sys
from pathlib import Path
from pipeline.publishing.publish import is_published, publication
with publication(Path(sys.argv[1])) as folder:
    (folder / "deployment.json").write_text("first")
    print("held", flush=True)
    sys.stdin.readline()
"""


def fill(folder: Path, text: str) -> None:
    (folder / "deployment.json").write_text(text, encoding="utf-8")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def give_up(place: Path, error: type[BaseException] = RuntimeError) -> None:
    """Begin to publish, and fail."""
    with publication(place) as folder:
        fill(folder, "new")
        raise error


def content(place: Path) -> str:
    return (place / "deployment.json").read_text(encoding="utf-8")


@pytest.fixture(params=[True, False], ids=["exchange", "aside"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(publish, "exchange", lambda first, second: False)


@pytest.mark.parametrize("by", ["exchange", "aside"])
def test_a_place_that_cannot_be_moved_keeps_the_new_one_beside_it(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a mount point (EBUSY), or a folder of a lower layer of a container (EXDEV)."""
    place, rename = tmp_path / "deployment", Path.rename
    with publication(place) as folder:
        fill(folder, "old")

    def exchange(_first: Path, second: Path) -> bool:
        if by == "aside":
            return False
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(second))

    def renamed(path: Path, target: Path) -> Path:
        if path == place:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path))
        return rename(path, target)

    monkeypatch.setattr(publish, "exchange", exchange)
    monkeypatch.setattr(Path, "rename", renamed)
    message = r"cannot be replaced \(.*\); the new deployment is .*/deployment\.new: move the old one away"
    with pytest.raises(InputError, match=message), publication(place) as folder:
        fill(folder, "new")
    assert (content(place), content(tmp_path / "deployment.new")) == ("old", "new")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".") and path.is_dir()]


@pytest.mark.usefixtures("_either_way")
def test_new_then_replaced(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "er" / "place"
    for text in ("one", "two", "three"):
        with publication(place) as folder:
            assert not list(folder.iterdir())
            fill(folder, text)
        assert content(place) == text
        assert names(place.parent) == ["place"]


@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    place = tmp_path / "place"
    with publication(place) as folder:
        fill(folder, "old")
    with pytest.raises(error):
        give_up(place, error)
    assert content(place) == "old"
    assert names(tmp_path) == ["place"]


def test_an_error_names_no_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(ExportError) as caught, publication(tmp_path / "a" / "place") as folder:
        raise ExportError(f"{folder / 'previews/a.png'}: no; {folder / 'model.onnx'}: slow; {folder}: cannot")
    assert str(caught.value) == (
        "previews/a.png of the deployment: no; model.onnx of the deployment: slow; the deployment: cannot"
    )


def test_an_exception_removes_the_parents_that_were_made_here(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(RuntimeError):
        give_up(tmp_path / "kept" / "a" / "b" / "place")
    assert names(tmp_path) == ["kept"]
    assert names(tmp_path / "kept") == []


@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("old", [True, False])
def test_after_the_exchange_it_is_published_whatever_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool
) -> None:
    place = tmp_path / "place"
    if old:
        with publication(place) as folder:
            fill(folder, "old")
    sync = publish.sync

    def fail(path: Path) -> None:
        if path == tmp_path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        sync(path)

    monkeypatch.setattr(publish, "sync", fail)
    with publication(place) as folder:  # the parent's fsync is best effort
        fill(folder, "new")
        staged = folder.stat()
        assert not is_published(place, staged)
    assert is_published(place, staged)
    assert content(place) == "new"
    assert names(tmp_path) == ["place"]


def test_parents_that_somebody_else_uses_stay(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stack.enter_context(pytest.raises(RuntimeError))
        stack.enter_context(publication(tmp_path / "a" / "b" / "place"))
        (tmp_path / "a" / "other").mkdir()
        raise RuntimeError
    assert names(tmp_path / "a") == ["other"]


def test_a_second_deploy_names_the_place_and_the_process_and_the_first_goes_on(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError) as caught, publication(place):
            pytest.fail("two at once")
        message = str(caught.value)
        assert message.startswith(f"{place}: process {holder.pid} is writing into it right now;")
        assert "--work-dir" in message
        holder.communicate("go on\n")
    assert holder.returncode == 0
    assert content(place) == "first"
    assert names(tmp_path) == ["place"]


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.kill()
    assert (tmp_path / ".place.zooport-new").is_dir()
    with publication(place) as folder:
        fill(folder, "second")
    assert content(place) == "second"
    assert names(tmp_path) == ["place"]


def test_threads_of_one_process_lock_each_other_out(tmp_path: Path) -> None:
    with publication(tmp_path / "place") as folder:
        fill(folder, "first")
        with pytest.raises(InputError, match=f"process {os.getpid()} is writing"), publication(tmp_path / "place"):
            pytest.fail("two at once")
    assert content(tmp_path / "place") == "first"


def test_places_side_by_side_do_not_disturb_each_other(tmp_path: Path) -> None:
    with publication(tmp_path / "a") as first, publication(tmp_path / "b") as second:
        fill(first, "a")
        fill(second, "b")
    assert content(tmp_path / "a") == "a"
    assert content(tmp_path / "b") == "b"


def test_only_our_own_leftovers_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".place.zooport-new").mkdir()
    (tmp_path / ".place.mine").mkdir()
    (tmp_path / ".other.zooport-new").mkdir()
    with publication(tmp_path / "place") as folder:
        fill(folder, "x")
    assert names(tmp_path) == [".other.zooport-new", ".place.mine", "place"]


def test_a_folder_that_is_no_deployment_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds files but no deployment\.json"), publication(tmp_path / "place"):
        pytest.fail("entered")
    assert names(tmp_path / "place") == ["thesis.tex"]
    assert names(tmp_path) == ["place"]


def test_a_file_in_the_place_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "place").write_text("a file", encoding="utf-8")
    with pytest.raises(InputError, match="is a file, not a deployment's folder"), publication(tmp_path / "place"):
        pytest.fail("entered")
    assert names(tmp_path) == ["place"]


def test_a_file_where_a_parent_should_be(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("a file", encoding="utf-8")
    with pytest.raises(InputError, match=r"Not a directory.*--work-dir"), publication(tmp_path / "work" / "a" / "b"):
        pytest.fail("entered")


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no /sys on this system")
def test_a_read_only_place() -> None:
    words = r"/sys/.*: cannot write the deployment.*--work-dir"
    with pytest.raises(InputError, match=words), publication(Path("/sys/zooport/place")):
        pytest.fail("entered")


def test_a_full_disk_shows_before_the_long_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    words = r"No space left on device.*free room there"
    with pytest.raises(InputError, match=words), publication(tmp_path / "a" / "place"):
        pytest.fail("entered")
    assert names(tmp_path) == []


def test_a_place_behind_a_link_is_written_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with publication(tmp_path / "link") as folder:
        fill(folder, "x")
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "real") == "x"


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
def test_a_reader_never_finds_the_place_empty(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with publication(place) as folder:
        fill(folder, "0")
    missing, stop = [], threading.Event()

    def read() -> None:
        while not stop.is_set():
            if not (place / "deployment.json").exists():
                missing.append(1)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(50):
            with publication(place) as folder:
                fill(folder, str(number))
    finally:
        stop.set()
        reader.join()
    assert not missing
