"""The arguments of zooport.serving:app. What is wrong with them is one line, before anything is served."""

import shutil
import sys
from pathlib import Path

import pytest

from backends.registry import get_backend
from backends.scale.cluster import Actors, cluster
from tests.backends.conftest import rewrite_manifest
from tests.backends.serving.conftest import write_tensors
from zoo.errors import InputError
from zooport.serving import app, check_room

click = pytest.importorskip("click", reason="Ray brings it")


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        ({"deployment": None}, "deployment is missing; expected deployment=FOLDER image=FILE", 2),
        ({"image": ""}, "image is missing; expected deployment=FOLDER image=FILE", 2),
        ({"deployment": "nowhere"}, "nowhere", 2),
        ({"image": "nowhere.jpg"}, "nowhere.jpg", 2),
        ({"replica": "2"}, 'unknown argument "replica"; nearest: "replicas"', 2),
        ({"replicas": "0"}, "replicas=0: expected an integer from 1 to 10000", 2),
        ({"replicas": "9" * 5000}, f"replicas={'9' * 40}: expected an integer from 1 to 10000", 2),
        ({"queue": "many"}, "queue=many: expected an integer from 1 to 1000000", 2),
        ({"threads": True}, "threads=True: expected an integer from 1 to 1024", 2),
        ({"threads": 100_000}, "threads=100000: expected an integer from 1 to 1024", 2),
        ({"gpus": "-1"}, "gpus=-1: expected 0, a share from 0.01 to 1, or an integer up to 1024", 2),
        ({"gpus": "inf"}, "gpus=inf: expected 0, a share", 2),
        ({"gpus": "1.5"}, "gpus=1.5: expected 0, a share", 2),
        ({"gpus": "1e-9"}, "gpus=1e-9: expected 0, a share", 2),
        ({"arrival": "0"}, "arrival=0: expected seconds, more than 0 and at most 86400", 2),
        ({"patience": "nan"}, "patience=nan: expected seconds, more than 0 and at most 86400", 2),
        ({"patience": "long"}, "patience=long: expected seconds, more than 0 and at most 86400", 2),
        ({"name": ""}, 'name "": expected letters, digits and . _ -; give another one', 2),
        ({"name": "a/b"}, 'name "a/b": expected letters, digits and . _ -; give another one', 2),
        ({"name": "a b#c"}, 'name "a b#c": expected letters, digits and . _ -; give another one', 2),
        ({"device": "nonsense"}, 'unknown provider "nonsense"; nearest: ', 2),
        ({"device": "cuda:x"}, 'provider "cuda:x": expected a device number after "cuda:"', 2),
        ({"device": ""}, 'unknown provider ""; nearest: ', 2),
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


def test_what_is_refused_is_printable(deployments: dict[str, Path], files: list[Path]) -> None:
    with pytest.raises(click.ClickException) as refusal:
        app({"deployment": str(deployments["detector"]), "image": str(files[0]), "name": "a\nb\x1b[31m"})
    assert refusal.value.message.startswith('name "a\\nb\\x1b[31m": expected letters')


def node(**resources: float) -> dict[str, object]:
    return {"Alive": True, "Resources": resources}


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        (Actors(5000, cpus=1), "replicas=5000 of threads=1: the cluster has 12 CPUs, so 4988 of them"),
        (Actors(2, cpus=5), "replicas=2 of threads=5: the cluster has 12 CPUs, so 1 of them would never"),
        (Actors(1, cpus=9), "replicas=1 of threads=9: the cluster has 12 CPUs, so 1 of them would never"),
        (Actors(3, gpus=0.5), "replicas=3 of threads=1 and gpus=0.5: the cluster has 12 CPUs and 1 GPUs, so 1 of them"),
    ],
)
def test_replicas_that_would_never_start_are_refused(replicas: Actors, message: str) -> None:
    nodes = [node(CPU=8, GPU=1), node(CPU=4), {**node(CPU=100), "Alive": False}]
    with pytest.raises(InputError, match=message):
        check_room(nodes, replicas)
    check_room(nodes, replicas._replace(size=1, cpus=8))


@pytest.mark.scale
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_connected_cluster_is_asked_for_its_room(deployments: dict[str, Path], files: list[Path]) -> None:
    pytest.importorskip("ray.serve", reason="the extra ray-serve brings it", exc_type=ImportError)
    good = {"deployment": str(deployments["detector"]), "image": str(files[0])}
    with cluster(None), pytest.raises(click.ClickException, match="replicas=10000 of threads=1: the cluster has"):
        app({**good, "replicas": 10_000})


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:1", "tensorrt", "CPUExecutionProvider"])
def test_a_device_may_be_another_machines(device: str) -> None:
    get_backend("onnxruntime").check_provider(device)


@pytest.mark.parametrize("backend", ["openvino", "tensorrt"])
def test_a_device_is_one_of_the_backends(backend: str) -> None:
    with pytest.raises(InputError, match=r'device "tpu": expected cpu, '):
        get_backend(backend).check_provider("tpu")


def test_a_level_without_results_is_refused(deployments: dict[str, Path], files: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    shutil.copytree(deployments["detector"], folder)
    rewrite_manifest(folder, output_level="raw")
    with pytest.raises(click.ClickException, match='output level "raw" has no results'):
        app({"deployment": str(folder), "image": str(files[0])})


def test_an_output_with_the_name_of_the_manifest_is_refused(files: list[Path], tmp_path: Path) -> None:
    folder = write_tensors(tmp_path / "small", deployment="brightness")
    with pytest.raises(click.ClickException, match='^small: output "deployment": a server has a tensor of its own'):
        app({"deployment": str(folder), "image": str(files[0])})


def test_a_missing_library_is_named(
    deployments: dict[str, Path], files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(click.ClickException, match=r'fastapi is not installed, .* pip install "zooport\[ray-serve\]"'):
        app({"deployment": str(deployments["detector"]), "image": str(files[0])})
