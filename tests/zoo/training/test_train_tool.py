"""tools/train.py from end to end, on very small recipes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SMALL = """
_base_ = ["{base}"]
train = dict(
    _delete_=True, iterations=2, batch_size=2, crop={crop}, num_scenes=2, warmup=1,
    optimizer=dict(type="AdamW", lr=1e-3), {extra}
)
dataset = dict(root="{data}")
checkpoint = "weights/small.safetensors"
"""


def train(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools/train.py"), str(config), "--work-dir", str(config.parent / "work")]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "crop", "extra", "metric"),
    [
        (
            "configs/segmentation/fcn_r18_digits.py",
            (64, 64),
            "pretrain=dict(iterations=2, batch_size=4, side=32, lr=1e-3)",
            "segmentation/mIoU",
        ),
        ("configs/detection/faster-rcnn_r18-fpn_digits.py", (256, 320), "", "coco/box_AP"),
    ],
)
def test_train_resume_score_publish(tmp_path: Path, base: str, crop: tuple[int, int], extra: str, metric: str) -> None:
    made = [sys.executable, str(ROOT / "tools/make_digits.py"), "val", "--count", "2", "--out", str(tmp_path / "data")]
    subprocess.run(made, check=True, capture_output=True, cwd=ROOT)
    config = tmp_path / "small.py"
    config.write_text(SMALL.format(base=ROOT / base, crop=crop, extra=extra, data=tmp_path / "data"))
    first = train(config)
    assert first.returncode == 0, first.stderr
    assert f"{metric} " in first.stdout
    again = train(config, "--resume", "--iters", "3", "--publish")
    assert again.returncode == 0, again.stderr
    assert "resumed epoch: 0, iter: 2" in again.stdout + again.stderr
    assert "3 of 3 iterations" in (tmp_path / "weights/small.md").read_text(encoding="utf-8")
    scored = train(config, "--checkpoint", str(tmp_path / "work/iter_3.pth"))
    line = next(row for row in again.stdout.splitlines() if metric + " " in row)
    assert line in scored.stdout, "the saved checkpoint scores as the trained model did"


@pytest.mark.slow
def test_resume_needs_a_checkpoint(tmp_path: Path) -> None:
    done = train(ROOT / "configs/segmentation/fcn_r18_digits.py", "--work-dir", str(tmp_path), "--resume")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"error: --resume: no checkpoint in {tmp_path}; train without --resume, or give its --work-dir"
    )
