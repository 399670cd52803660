"""From a deployment's files, held open, to a session of ONNX Runtime."""

import json
from pathlib import Path

from backends.backend import LoadOptions
from backends.engine_options import EngineOptions
from backends.file_tensors import file_tensors
from backends.onnxruntime.held_model import HeldModel
from backends.onnxruntime.providers import BUILDERS, short_name
from backends.onnxruntime.runner import OnnxRuntimeRunner
from zoo.errors import InputError
from zoo.manifest import Manifest
from zoo.opened_file import COPY_AGAIN, as_opened
from zoo.opened_folder import MANIFEST_FILE, OpenedFolder

CLASSES = "zooport.classes"  # a key of the ONNX file's metadata_props


def open_deployed(folder: OpenedFolder, manifest: Manifest, options: LoadOptions) -> OnnxRuntimeRunner:
    """The runner of the file's tensors. Raises as `load` does."""
    model = options.onnx_path or HeldModel.of(folder, manifest)
    provider = options.provider if options.provider is not None else manifest.provider or "cpu"
    cache = None
    if short_name(provider).partition(":")[0] in BUILDERS:
        from backends.onnxruntime.engine_cache import engine_cache

        cache = engine_cache(_sha256(model), options.engine or EngineOptions(), options.cache)
    runner = OnnxRuntimeRunner(
        model,
        *file_tensors(manifest),
        defaults=manifest.defaults,
        provider=provider,
        threads=options.call_threads(manifest),
        engine=options.engine,
        cache=cache,
        in_floats=options.in_floats,
        spin=options.spin,
        shared=(options.workers or 1) > 1,
    )
    _check_classes(runner, manifest)
    return runner


def _sha256(model: Path | HeldModel) -> str:
    """Of its files; a path is that of a file for proofs, which has its weights in it."""
    if isinstance(model, HeldModel):
        return model.sha256()
    with as_opened(model) as file:
        return file.sha256()


def _check_classes(runner: OnnxRuntimeRunner, manifest: Manifest) -> None:
    """The graph says of itself how many classes it has, where zooport exported it."""
    try:
        count = len(json.loads(runner.metadata.get(CLASSES, "null")))
    except (RecursionError, TypeError, ValueError):
        return
    if count != len(manifest.classes):
        raise InputError(
            f"{runner.path}: its graph has {count} classes, and {MANIFEST_FILE} describes {len(manifest.classes)}; "
            f"{COPY_AGAIN}"
        )
