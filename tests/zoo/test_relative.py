"""Paths in a file, where its folder is reached by a link."""

from pathlib import Path

from zoo.files.relative import relative_to_file


def test_a_path_leads_to_the_file_from_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere/deep").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere/deep")
    weights = tmp_path / "weights.pth"
    weights.touch()
    file = tmp_path / "linked/config.py"
    assert (file.parent / relative_to_file(weights, file)).samefile(weights)
    beside = tmp_path / "elsewhere/beside.pth"
    beside.touch()
    assert (file.parent / relative_to_file(tmp_path / "linked/../beside.pth", file)).samefile(beside)
    assert (file.parent / relative_to_file(tmp_path / "linked/..", file)).samefile(tmp_path / "elsewhere")


def test_a_link_to_a_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "blob").touch()
    (tmp_path / "model.safetensors").symlink_to("blob")
    assert relative_to_file(tmp_path / "model.safetensors", tmp_path / "config.py") == "model.safetensors"
