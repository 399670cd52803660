"""`zooport predict --engine ray`: what is refused before Ray is imported and a file is written."""

from pathlib import Path

import pytest

from tests.backends.conftest import rewrite_manifest
from tests.backends.serving.conftest import write_adjustable
from tests.predicting.conftest import Predict
from zoo.manifest import Manifest
from zoo.optional_library import find_spec

RULES = {
    ("--engine", "spark"): '--engine "spark": expected one of local, ray',
    ("--address", "auto"): "--address is for --engine ray; add that, or leave it out",
    ("--block-size", "4"): "--block-size is for --engine ray; add that, or leave it out",
    ("--out", "s3://b/out"): "--out s3://b/out: a URI is for --engine ray; give a folder of this machine",
    ("--engine", "ray"): "--engine ray without --out: give --out and a folder for the results, or a URI of one",
    ("--engine", "ray", "--out", "OUT", "--draw"): "--draw with --engine ray, which writes Parquet; leave it out",
    ("--engine", "ray", "--out", "OUT", "--format", "csv"): (
        "--format with --engine ray, which writes Parquet; leave it out"
    ),
    ("--engine", "ray", "--out", "OUT", "--block-size", "0"): "--block-size 0: expected 1 or more",
    ("--engine", "ray", "--out", "OUT", "--gpus", "0"): (
        "--gpus 0: expected for each actor a share from 0.01 to 1, or an integer up to 1024"
    ),
    ("--engine", "ray", "--out", "OUT", "--gpus", "1.5"): (
        "--gpus 1.5: expected for each actor a share from 0.01 to 1, or an integer up to 1024"
    ),
    ("--engine", "ray", "--out", "OUT", "--score", "2"): "--score 2: expected a number from 0 to 1, for example 0.3",
    ("--engine", "ray", "--out", "OUT", "--address", "head"): (
        "--address head: expected ray://HOST:10001, HOST:6379, or auto on a machine of the cluster"
    ),
    ("--engine", "ray", "--out", "OUT", "--input", "scale=2"): (
        'DETECTOR: unknown input "scale"; it has no inputs that can be set'
    ),
    ("--engine", "ray", "--out", "OUT", "--classes", "c9"): 'unknown class "c9"; nearest: "c6", "c5", "c4"',
    ("--engine", "ray", "--out", "OUT", "nowhere"): "nowhere: no such file",
    ("--engine", "ray", "--out", "PHOTOS"): "--out PHOTOS: exists already; give another folder",
    ("--engine", "ray", "--out", "PHOTOS", "--resume"): "--out PHOTOS: exists already; give another folder",
    ("--engine", "ray", "--out", "nosuch://out"): "expected a path, or a URI such as s3://bucket/folder",
}


@pytest.mark.parametrize("flags", RULES)
def test_wrong_arguments(
    predict: Predict, detector: Path, photos: Path, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    places = {"OUT": str(tmp_path / "out"), "PHOTOS": str(photos), "DETECTOR": str(detector)}
    before = sorted(tmp_path.rglob("*"))
    run = predict(detector, photos, *(places.get(flag, flag) for flag in flags))
    expected = RULES[flags]
    for name, place in places.items():
        expected = expected.replace(name, place)
    assert run.code == 2
    assert expected in run.err
    assert run.err.startswith("error: ")
    assert run.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_number_that_does_not_fit_its_input(predict: Predict, photos: Path, tmp_path: Path) -> None:
    deployment = write_adjustable(tmp_path / "adjustable")
    images, number = Manifest.read(deployment).inputs
    rewrite_manifest(deployment, inputs=(images, number._replace(dtype="int64")))
    flags = ["--engine", "ray", "--out", tmp_path / "out", "--input", "score_threshold=2.5"]
    run = predict(deployment, photos, *flags)
    assert run.code == 2
    assert run.err == f'error: {deployment}: input "score_threshold" is 2.5, expected an integer, 1 or more\n'
    assert not (tmp_path / "out").exists()


def test_without_ray_the_extra_is_named(
    predict: Predict, detector: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("ray") is not None:
        monkeypatch.setattr("backends.scale.cluster.optional_library", _missing)
    run = predict(detector, photos, "--engine", "ray", "--out", tmp_path / "out")
    assert run.code == 4
    assert run.err == 'error: ray is not installed, and --engine ray needs it: pip install "zooport[scale]"\n'
    assert not (tmp_path / "out").exists()


def _missing(name: str, extra: str, use: str) -> None:
    from zoo.errors import LibraryMissingError

    raise LibraryMissingError(f'{name} is not installed, and {use} needs it: pip install "zooport[{extra}]"')
