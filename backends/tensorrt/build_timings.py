"""What a build does with the timing cache. The engine does not need it: whatever is wrong with it is a warning."""

import logging
from pathlib import Path
from types import ModuleType
from typing import Any

from backends.engine_options import EngineOptions
from backends.gpu import Gpu
from backends.tensorrt.timing_cache import merge_timings, read_timings, set_aside, timing_cache_path

logger = logging.getLogger(__name__)


def use_timings(trt: ModuleType, config: Any, backend: str, options: EngineOptions, here: Gpu | None) -> Path | None:
    """Give the builder the timings of earlier builds. Their file; None where there is to be none, or cannot be."""
    if backend != "tensorrt" or here is None:
        return None
    if not options.timing_cache:
        config.set_flag(trt.BuilderFlag.DISABLE_TIMING_CACHE)
        return None
    try:
        path = timing_cache_path(trt.__name__, trt.__version__, here.name)
        timings = read_timings(path)
        if timings and not _take(config, timings):
            set_aside(path, "TensorRT does not take it")
            timings = b""
        if timings or _take(config, b""):
            return path
        logger.warning("timing cache: TensorRT takes none; building without it")
    except Exception as error:  # noqa: BLE001 - no home folder, or a fault of the library
        logger.warning("timing cache: %s; building without it", error)
    return None


def _take(config: Any, timings: bytes) -> bool:
    """Whether the builder takes these timings. Of bytes that it cannot read, TensorRT makes an empty cache."""
    cache, others = (config.create_timing_cache(content) for content in (timings, b""))
    if cache is None:
        return False
    lost = timings and bytes(cache.serialize()) == bytes(others.serialize()) != timings
    return not lost and bool(config.set_timing_cache(cache, ignore_mismatch=False))


def keep_timings(config: Any, path: Path) -> None:
    """Add what this build has measured to the file."""

    def merge(on_disk: bytes) -> bytes:
        cache = config.get_timing_cache()
        if on_disk:
            others = config.create_timing_cache(on_disk)
            if not cache.combine(others, ignore_mismatch=False):
                logger.warning("timing cache %s: TensorRT does not combine it; it is replaced", path)
        return bytes(cache.serialize())

    try:
        merge_timings(path, merge)
    except Exception as error:  # noqa: BLE001 - a fault of the library
        logger.warning("timing cache %s: %s; later builds will measure again", path, error)
