"""Models of a repository for NVIDIA's Triton, written whole."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from backends.loading import load
from backends.serving.address import check_name
from backends.serving.triton_config import Serving
from backends.serving.triton_ensemble import check_ensemble, ensemble_models
from backends.serving.triton_files import TritonModel
from backends.serving.triton_python import python_model
from zoo.errors import InputError
from zoo.files.locks import locked
from zoo.manifest import Manifest
from zoo.opened_folder import MANIFEST_FILE

STAGED = ".zooport"  # where models are written before the server may find them
LOCK = ".zooport.lock"  # a file, which servers pass over
LISTENERS = ("http", "grpc", "metrics")  # what a server listens for, each on a port of its own


def write_model(folder: Path, image: Path, out: Path, serving: Serving, *, ensemble: bool = False) -> Path:
    """Write the model into the repository `out`, which is made if missing; the model's folder.

    `image`: a file that the deployment in `folder` takes: the first call, and what the outputs are learned from.
    `ensemble`: the graph in a backend of Triton's own, see triton_ensemble; else one Python model, see triton_python.
    Raises InputError where there is a model of that name already, and what a load and a call raise.
    """
    check_name(serving.name)
    if ensemble:
        check_ensemble(Manifest.read(folder))
    with load(folder) as model:
        result = model(model.task.kind.read(image))
        content = image.read_bytes()
        if ensemble:
            models = ensemble_models(model, content, result, serving)
        else:
            models = [python_model(model, content, result, serving)]
        manifest = model.manifest
    _publish(models, out, folder, manifest)
    return out / serving.name


def start_command(repository: Path) -> list[str]:
    """What starts Triton with the repository, for programs of this machine alone; by itself it listens everywhere."""
    addresses = [part for each in LISTENERS for part in (f"--{each}-address", "127.0.0.1")]
    return ["tritonserver", "--model-repository", str(repository), *addresses]


def _publish(models: Sequence[TritonModel], out: Path, folder: Path, manifest: Manifest) -> None:
    """All of them or none, in order: a server that looks for new models finds the parts of an ensemble first."""
    out.mkdir(parents=True, exist_ok=True)
    with locked(out / LOCK, make=True):
        try:
            for model in models:
                if (out / model.name).exists():
                    raise InputError(
                        f"{out / model.name}: there is such a model already; remove it, or give another name"
                    )
            _publish_locked(models, out, folder, manifest)
        finally:
            (out / LOCK).unlink(missing_ok=True)  # while it is held


def _publish_locked(models: Sequence[TritonModel], out: Path, folder: Path, manifest: Manifest) -> None:
    staged = out / STAGED
    shutil.rmtree(staged, ignore_errors=True)  # of a run that was killed
    published: list[Path] = []
    try:
        for model in models:
            _write(model, staged / model.name, folder, manifest)
        for model in models:
            (staged / model.name).rename(out / model.name)
            published.append(out / model.name)
    except BaseException:
        for place in published:
            shutil.rmtree(place, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _write(model: TritonModel, place: Path, folder: Path, manifest: Manifest) -> None:
    for name, content in {**model.files, "config.pbtxt": model.config.encode()}.items():
        _made(place / name).write_bytes(content)
    if model.deployment is None:
        return
    deployment = place / model.deployment
    for name in (*manifest.files, MANIFEST_FILE):
        shutil.copyfile(folder / name, _made(deployment / name))
    if Manifest.read_verified(deployment) != manifest:
        raise InputError(f"{folder}: another deployment has taken its place meanwhile; start the command again")


def _made(file: Path) -> Path:
    """The file, whose folder exists."""
    file.parent.mkdir(parents=True, exist_ok=True)
    return file
