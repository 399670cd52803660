"""Training corrupts no memory: the C library checks its heap in a child process, which would abort."""

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.training.tiny_recipe import ROOT
from tests.zoo_configs import CONFIGS, library_marks

CHECKED = {"MALLOC_CHECK_": "3", "LD_PRELOAD": "libc_malloc_debug.so.0"}  # glibc 2.34 and later need the second
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2"}  # torch's kernels of most CPUs before 2023; the fault was seen in these
OVERFLOW = """
import numpy as np
from numpy.lib.stride_tricks import as_strided
blocks = [np.empty(4992, np.uint8) for _ in range(8)]  # what is in a block may hide the fault by chance
for block in blocks:
    block[:] = 0
    as_strided(block, (4993,))[4992] ^= 255  # the block's own size is rounded up: unchecked, nobody would know
del block, blocks
"""
RECIPES = [Path(path) for path, config in CONFIGS.items() if "iterations" in (config.train or {})]

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library cannot check its heap")


def checked(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python in a process whose heap is checked."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **CHECKED, **environment},
    )


@pytest.mark.slow
def test_a_write_behind_a_block_is_seen() -> None:
    """Else the other tests of this file could not fail."""
    assert checked("-c", OVERFLOW).returncode == -signal.SIGABRT


def test_every_trainable_model_is_here() -> None:
    assert len(RECIPES) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "threads", "environment"),
    [
        pytest.param(
            *(config, threads, environment),
            id=f"{config.stem}-{threads}-{kernels}",
            marks=library_marks(config),
        )
        for config in RECIPES
        for threads in (1, 2)
        for kernels, environment in (("avx2", AVX2), ("all", {}))
    ],
)
def test_training_corrupts_no_memory(config: Path, threads: int, environment: dict[str, str], tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("train_narrow.py"))
    done = checked(script, str(config), str(tmp_path), str(threads), OMP_NUM_THREADS=str(threads), **environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "iter_3.pth").is_file()
