"""The arguments of zooport.serving:app. What is wrong with them is one line, before anything is served."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.backends.conftest import rewrite_manifest
from zooport.serving import app

click = pytest.importorskip("click", reason="Ray brings it")


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        ({"deployment": None}, "deployment is missing; expected deployment=FOLDER image=FILE", 2),
        ({"image": ""}, "image is missing; expected deployment=FOLDER image=FILE", 2),
        ({"deployment": "nowhere"}, "nowhere", 2),
        ({"image": "nowhere.jpg"}, "nowhere.jpg", 2),
        ({"replica": "2"}, 'unknown argument "replica"; nearest: "replicas"', 2),
        ({"replicas": "0"}, "replicas=0: expected an integer, 1 or more", 2),
        ({"queue": "many"}, "queue=many: expected an integer, 1 or more", 2),
        ({"threads": True}, "threads=True: expected an integer, 1 or more", 2),
        ({"gpus": "-1"}, "gpus=-1: expected 0 or more", 2),
        ({"gpus": "inf"}, "gpus=inf: expected 0 or more", 2),
        ({"check": "perhaps"}, "check=perhaps: expected true or false", 2),
    ],
)
def test_a_wrong_argument_is_one_line(
    deployments: dict[str, Path], files: list[Path], arguments: dict[str, object], message: str, code: int
) -> None:
    good = {"deployment": str(deployments["detector"]), "image": str(files[0])}
    with pytest.raises(click.ClickException) as refusal:
        app({**good, **arguments})
    assert message in refusal.value.message
    assert "\n" not in refusal.value.message
    assert refusal.value.exit_code == code


def test_a_level_without_results_is_refused(deployments: dict[str, Path], files: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    shutil.copytree(deployments["detector"], folder)
    rewrite_manifest(folder, output_level="raw")
    with pytest.raises(click.ClickException, match='output level "raw" has no results'):
        app({"deployment": str(folder), "image": str(files[0])})


def test_a_missing_library_is_named(
    deployments: dict[str, Path], files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(click.ClickException, match=r'fastapi is not installed, .* pip install "zooport\[ray-serve\]"'):
        app({"deployment": str(deployments["detector"]), "image": str(files[0])})
