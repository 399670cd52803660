"""Small deployments, and images in folders and in Parquet files."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.backends.conftest import Recipe, write_deployment


@pytest.fixture(scope="session")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finds more boxes the brighter an image is; none in a black one."""
    return write_deployment(tmp_path_factory.mktemp("detector"), Recipe(batch=1))


@pytest.fixture(scope="session")
def segmentor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pixel's class is its strongest channel."""
    return write_deployment(tmp_path_factory.mktemp("segmentor"), Recipe(task="SemanticSegmentation", batch=1))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Five images from black to bright, and one that is none: 3.png."""
    folder = tmp_path / "photos"
    folder.mkdir()
    random = np.random.default_rng(0)
    for number in range(6):
        image = random.integers(0, 40, (64, 96, 3)) + 40 * number
        cv2.imwrite(str(folder / f"{number}.png"), image.astype(np.uint8))
    (folder / "3.png").write_bytes(b"no image")
    return folder
