"""benchmarks/ray_throughput.py: a rehearsal with few images on a real cluster. No figure is asserted."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.backends.conftest import Recipe, write_deployment

pytestmark = [pytest.mark.usefixtures("benchmarks"), pytest.mark.scale, pytest.mark.slow]
pytest.importorskip("ray", reason="the extra scale brings it")


def test_a_page_says_on_how_many_rounds_it_rests() -> None:
    import ray_throughput

    assert ray_throughput.basis(1).startswith("The figures are of one round (")
    assert ray_throughput.basis(3) == "The figures are medians of 3 rounds, in which the two took turns."


def test_rows_are_compared_and_a_page_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray_throughput

    monkeypatch.setattr(ray_throughput.Others, "share", 0.0)
    folder = write_deployment(tmp_path / "deployment", Recipe(batch=1))
    images = [tmp_path / f"{number}.png" for number in range(3)]
    for number, path in enumerate(images):
        cv2.imwrite(str(path), np.full((64, 96, 3), 80 * number, np.uint8))
    page = tmp_path / "page.md"
    flags = ["--images", "40", "--rounds", "1", "--page", str(page), "--image", *map(str, images)]
    assert ray_throughput.main([str(folder), *flags]) == 3  # the start alone takes longer than 40 images
    text = page.read_text(encoding="utf-8")
    assert f"over 40 images. {ray_throughput.basis(1)} All rows are equal to the bit." in text
    run = ray_throughput.with_ray

    def other_order(deployment: Path, folder: Path, out: Path) -> None:
        run(deployment, folder, out)
        first, second = sorted(out.glob("part-*"))[:2]
        first.rename(out / "x")
        second.rename(first)
        (out / "x").rename(second)

    monkeypatch.setattr(ray_throughput, "with_ray", other_order)
    with pytest.raises(AssertionError, match="Ray gives another row than the loop"):
        ray_throughput.main([str(folder), *flags])
