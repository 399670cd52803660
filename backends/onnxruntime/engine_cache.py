"""Where TensorRT's providers of ONNX Runtime keep the engines that they build, so that the next load is quick."""

import hashlib
import json
import logging
from pathlib import Path

import onnxruntime

from backends.engine_options import EngineOptions
from zoo.cache_folder import cache_folder
from zoo.errors import InputError

logger = logging.getLogger(__name__)


def engine_cache(sha256: str, engine: EngineOptions, base: Path | None = None) -> str | None:
    """A folder for a model and these options; None, with a warning, where there can be none.

    `sha256`: of the model's files, weights included. <base>/onnxruntime-<version>/<sha256>-<options>; the base is
    $XDG_CACHE_HOME/zooport where it is None. In it ONNX Runtime tells versions of TensorRT, GPUs and shapes apart, but
    not options, and not files that differ in their weights alone (TRTGenerateId in its
    tensorrt_execution_provider_utils.h hashes names and versions).
    """
    options = hashlib.sha256(json.dumps(engine.to_dict(), sort_keys=True).encode()).hexdigest()
    try:
        folder = (base or cache_folder()) / f"onnxruntime-{onnxruntime.__version__}" / f"{sha256[:32]}-{options[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
    except (InputError, OSError) as error:
        logger.warning("no engine is kept, and each load builds it: %s", error)
        return None
    return str(folder)
