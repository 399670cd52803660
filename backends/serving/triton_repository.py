"""A model of a repository for NVIDIA's Triton: config.pbtxt, model.py, the deployment, and a file to warm up with."""

import re
import shutil
import tempfile
from pathlib import Path

from backends.loading import load
from backends.serving.protocol import FILE
from backends.serving.triton_config import Serving, config_text
from backends.serving.triton_model import FOLDER
from zoo.errors import InputError
from zoo.manifest import Manifest
from zoo.opened_folder import MANIFEST_FILE

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
MODEL = '''"""A deployment as a Python model of Triton. Written by zooport triton."""

import os
import sys

sys.path[:0] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]  # the stub ignores it

from backends.serving.triton_model import TritonPythonModel

__all__ = ["TritonPythonModel"]
'''


def write_model(folder: Path, image: Path, out: Path, serving: Serving) -> Path:
    """Write the model into the repository `out`, which is made if missing; the model's folder.

    `image`: a file that the deployment in `folder` takes: the first call, and what the outputs are learned from. Raises
    InputError where there is a model of that name already, and what a load and a call raise.
    """
    if not NAME.fullmatch(serving.name):
        raise InputError(f'name "{serving.name}": expected letters, digits and . _ -; give another one')
    place = out / serving.name
    if place.exists():
        raise InputError(f"{place}: there is such a model already; remove it, or give another name")
    with load(folder) as model:
        result = model(model.task.kind.read(image))
    out.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=".zooport-", dir=out))
    try:
        content = image.read_bytes()
        _write(staged, folder, model.manifest, content)
        text = config_text(model.manifest, result, len(content), serving)
        (staged / "config.pbtxt").write_text(text, encoding="utf-8")
        staged.chmod(0o755)
        staged.rename(place)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return place


def _write(staged: Path, folder: Path, manifest: Manifest, content: bytes) -> None:
    """All but config.pbtxt."""
    deployment = staged / "1" / FOLDER
    for name in (*manifest.files, MANIFEST_FILE):
        file = deployment / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, file)
    Manifest.read_verified(deployment)  # a deploy may have taken its place meanwhile
    (staged / "1" / "model.py").write_text(MODEL, encoding="utf-8")
    (staged / "warmup").mkdir()
    (staged / "warmup" / FILE).write_bytes(content)
