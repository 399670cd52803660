"""The zooport config of a model whose own config zooport does not take: written where its deployments go, by deploy."""

import hashlib
from pathlib import Path

from zoo.errors import InputError
from zoo.own_model.forms.openmmlab_config import read_codebase_config
from zoo.own_model.request import ModelRequest
from zoo.own_model.writing import WrittenConfig, write_config

SEAL = "# sha256 of the lines above, as zooport deploy wrote them: "


def config_for_deploy(source: str, checkpoint: str | None, work_dir: str | Path) -> WrittenConfig | None:
    """The config that was written into the work directory; None for a source that is no codebase's config.

    A config there that is as it was written is replaced. Raises InputError for one that somebody has changed, without
    a checkpoint, and as `write_config` does.
    """
    if read_codebase_config(source) is None:
        return None
    if checkpoint is None:
        raise InputError(f"{source} is a config of OpenMMLab, which has no trained weights; give --checkpoint FILE")
    out = Path(work_dir) / Path(source).name
    if out.exists() and not _is_as_written(out):
        raise InputError(
            f"{out}: it would be replaced by the config of {source}, and somebody has changed it, or it is another "
            f"file; deploy it (zooport deploy {out}), delete it, or give another --work-dir"
        )
    return write_config(ModelRequest(source, weights=Path(checkpoint), out=out, force=True), _sealed)


def _sealed(text: str) -> str:
    return f"{text}\n{SEAL}{_hash(text)}\n"


def _is_as_written(path: Path) -> bool:
    text, seal, digest = path.read_text(encoding="utf-8", errors="replace").rpartition(f"\n{SEAL}")
    return bool(seal) and digest.strip() == _hash(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
