"""From a file, a folder, a glob, a list: which files, in which order, and under which names."""

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.errors import InputError
from zoo.input_kinds import input_kind
from zoo.sources import Source, find_sources, list_items, read_items
from zoo.sources.naming import as_one_file, output_names

IMAGE = input_kind("image")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of no content: finding opens nothing."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "b.jpg",
        "a.PNG",
        "notes.txt",
        ".hidden.jpg",
        "sub/b.jpg",
        "sub/deep/c.webp",
        ".git/d.jpg",
        "clip.mp4",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def found(source: Any, *, recursive: bool = False) -> dict[str, str]:
    """Name -> label."""
    return {each.name: each.label for each in find_sources(source, IMAGE, recursive=recursive)}


def test_a_folder_has_its_images_and_videos_in_order(tree: Path) -> None:
    assert found(".") == {"a": "a.PNG", "b": "b.jpg", "clip": "clip.mp4"}
    assert [source.recording is not None for source in find_sources(tree, IMAGE)] == [False, False, True]


def test_recursive_keeps_the_folders(tree: Path) -> None:
    assert list(found(".", recursive=True)) == ["a", "b", "clip", "sub/b", "sub/deep/c"]


def test_files_globs_and_several(tree: Path) -> None:
    assert found("b.jpg") == {"b": "b.jpg"}
    assert found(tree / "sub" / "b.jpg") == {"b": str(tree / "sub/b.jpg")}
    assert found("*.jpg") == {"b": "b.jpg"}
    assert found("**/*.webp") == {"c": "sub/deep/c.webp"}
    assert found(["b.jpg", "./b.jpg", "."]) == found(["b.jpg", "a.PNG", "clip.mp4"])  # each file once
    assert found("notes.txt") == {"notes": "notes.txt"}  # who names a file gets what is wrong with it
    (tree / "a[1].jpg").touch()
    assert found("a[1].jpg") == {"a[1]": "a[1].jpg"}


def test_names_that_are_the_same_keep_their_folders(tree: Path) -> None:
    assert found(["b.jpg", "sub/b.jpg", "a.PNG"]) == {"b": "b.jpg", "sub/b": "sub/b.jpg", "a": "a.PNG"}
    (tree / "b.png").touch()
    assert list(found(["b.jpg", "b.png", "sub/b.jpg"])) == ["b.jpg", "b.png", "sub/b"]


def test_a_list_on_standard_input(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(content: bytes) -> list[Source]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return find_sources("-", IMAGE)

    assert [each.label for each in listed(b"b.jpg\r\n\n sub\nnone.jpg\n")] == ["b.jpg", " sub", "none.jpg"]
    (tree / "odd\nname.jpg").touch()
    assert [each.label for each in listed(b"odd\nname.jpg\0sub\0")] == ["odd\nname.jpg", "sub/b.jpg"]
    (item,) = read_items(list_items(listed(b"none.jpg")), IMAGE)
    assert item.fault == "image none.jpg: no such file"
    long = "x" * 300 + ".jpg"  # the system refuses to look for it
    assert [each.label for each in listed(f"{long}\nb.jpg".encode())] == [long, "b.jpg"]


def test_cameras_and_streams(tree: Path) -> None:
    assert found([0, "12"]) == {"camera-0": "camera 0", "camera-12": "camera 12"}
    (tree / "3").touch()
    assert find_sources("./3", IMAGE)[0].recording is None
    assert found("./3") == {"3": "3"}
    assert found("rtsp://me:secret@host:554/a?key=b") == {"rtsp-host-554-a": "rtsp://host:554/a"}
    assert find_sources("http://host/a.jpg", IMAGE)[0].live
    assert len(find_sources([0, "00"], IMAGE)) == 1


def test_streams_that_differ_in_their_query_alone_are_two() -> None:
    addresses = ["http://host/clip?id=1", "http://host/clip?id=2"]
    assert [source.name for source in find_sources(addresses, IMAGE)] == ["http-host-clip", "http-host-clip-2"]
    assert len(find_sources(addresses[:1] * 2, IMAGE)) == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.jpg", "^none.jpg: no such file$"),
        ("x*.jpg", r"^x\*.jpg: no file matches; check the folder and the pattern, and quote it$"),
        (".git/none", "no such file"),
        ([], "^no images to read; name a file"),
        (
            "empty",
            r"^empty: no images in this folder, expected files .bmp, .jpeg, .*; --recursive \(recursive=True\) also s",
        ),
        ("a\0b", "not the name of a file"),
        ("", "not the name of a file"),
    ],
)
def test_what_is_not_there(tree: Path, source: Any, message: str) -> None:
    (tree / "empty").mkdir()
    with pytest.raises(InputError, match=message):
        find_sources(source, IMAGE)


def test_an_empty_folder_and_one_that_cannot_be_read(tree: Path) -> None:
    (tree / "empty" / "deep").mkdir(parents=True)
    with pytest.raises(InputError, match=r"no images in this folder, expected files [^;]*$"):
        find_sources("empty", IMAGE, recursive=True)
    if os.getuid():  # root reads everything
        (tree / "empty").chmod(0)
        with pytest.raises(InputError, match="empty: cannot be read"):
            find_sources("empty", IMAGE)


def test_a_link_that_leads_into_itself_ends(tree: Path) -> None:
    (tree / "sub" / "again").symlink_to(tree)
    assert list(found(".", recursive=True)) == ["a", "b", "clip", "sub/b", "sub/deep/c"]


def test_names_that_some_disks_take_for_one_are_two() -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    for one, two in (("IMG.JPG", "img.png"), (f"{composed}.jpg", f"{apart}.png")):
        names = output_names([(Path("/", name), Path(name)) for name in (one, two)])
        assert len({as_one_file(name) for name in names}) == 2, names


def test_names_that_nothing_distinguishes_are_counted() -> None:
    same = (Path("/a/x.jpg"), Path("x.jpg"))
    assert output_names([same, same, (Path("/a/x-2.jpg"), Path("x-2.jpg"))]) == ["x.jpg", "x.jpg-2", "x-2"]


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=3), max_size=8), st.data())
def test_no_two_files_have_one_name(parts: list[list[str]], data: st.DataObject) -> None:
    paths = list(
        dict.fromkeys(Path("/", *each[:-1], each[-1] + data.draw(st.sampled_from([".a", ".b", ""]))) for each in parts)
    )
    names = output_names([(path, Path(path.name)) for path in paths])
    assert len(set(names)) == len(paths)
    assert not any(name.startswith(("/", "..")) for name in names)
