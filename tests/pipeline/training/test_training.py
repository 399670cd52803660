"""tools/train.py trains, in processes of its own: mmengine's Runner leaves loggers and a default scope behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from pipeline.training import read_run
from tests.pipeline.training.tiny_recipe import ROOT, command, train, write_tiny
from zoo.build import build_model
from zoo.cards import TrainingRecord

AMP_OFF = 0.02  # of the statistics of batch norms, by half precision: bfloat16 was 0.0013 off, another seed 1.6
DETECTOR = """
_base_ = ["{root}/configs/detection/faster-rcnn_r18-fpn_digits.py"]
train = dict(
    _delete_=True, iterations=2, batch_size=2, num_scenes=2, warmup=1, optimizer=dict(type="AdamW", lr=1e-3),
)
checkpoint = "weights/tiny.safetensors"
"""


@pytest.mark.slow
def test_train_and_publish(tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    done = train(config, "--publish", "--seed", "7")
    assert done.returncode == 0, done.stderr
    assert f"curves: {tmp_path}/work/curves.png\n" in done.stdout
    card = TrainingRecord.read(tmp_path / "weights/tiny.json")
    assert (card.training.seed, card.training.iterations, card.training.amp) == (7, 2, False)
    trained = build_model(config, tmp_path / "work/iter_2.pth").state_dict()
    published = build_model(config).state_dict()
    assert all(torch.allclose(tensor, trained[name], atol=1e-2) for name, tensor in published.items())
    line = next(row for row in done.stdout.splitlines() if "segmentation/mIoU" in row)
    figures = card.figures[config.as_posix()]
    assert line.endswith(f"segmentation/mIoU {figures['segmentation/mIoU']:.2f}")


@pytest.mark.slow
def test_a_seed_decides_and_amp_is_another_arithmetic(tmp_path: Path) -> None:
    states = {}
    for name, flags in (("a", []), ("b", []), ("c", ["--seed", "1"]), ("d", ["--amp"])):
        folder = tmp_path / name
        folder.mkdir()
        done = train(write_tiny(folder), *flags)
        assert done.returncode == 0, done.stderr
        states[name] = torch.load(folder / "work/iter_2.pth", weights_only=True)["state_dict"]
        assert read_run(folder / "work/iter_2.pth").amp == (name == "d")
    same = {name: all(torch.equal(state[key], states["a"][key]) for key in state) for name, state in states.items()}
    assert same == {"a": True, "b": True, "c": False, "d": False}
    assert statistics_off(states["d"], states["a"]) < AMP_OFF
    assert statistics_off(states["c"], states["a"]) > AMP_OFF, "or the line above could not fail"


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--amp"]])
def test_the_detector(flags: list[str], tmp_path: Path) -> None:
    config = tmp_path / "tiny.py"
    config.write_text(DETECTOR.format(root=ROOT), encoding="utf-8")
    done = train(config, *flags)
    assert done.returncode == 0, done.stderr
    assert "coco/box_AP " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_training_goes_on(number: signal.Signals, tmp_path: Path) -> None:
    config = write_tiny(tmp_path, iterations=400)  # a checkpoint every 40
    process = subprocess.Popen(
        command(config, "--seed", "5"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    while not (tmp_path / "work/last_checkpoint").is_file():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted; continue with --resume"
    assert "curves: " in out
    assert (tmp_path / "work/curves.png").is_file()
    stopped = read_run(max((tmp_path / "work").glob("iter_*.pth"), key=lambda path: path.stat().st_mtime))
    assert stopped.iterations < 400

    wrong = train(config, "--resume", "--seed", "6")
    assert wrong.returncode == 2
    assert "--resume --seed 6: this training began with seed 5" in wrong.stderr
    wrong = train(config, "--resume", "--iters", "401")
    assert wrong.returncode == 2
    assert "train.iterations was 400 and is 401" in wrong.stderr
    done = train(config, "--resume")
    assert done.returncode == 0, done.stderr
    assert f"continues from iter_{stopped.iterations}.pth, after {stopped.iterations} of 400 iterations" in done.stdout
    finished = read_run(tmp_path / "work/iter_400.pth")
    assert (finished.seed, finished.iterations, finished.resumed) == (5, 400, 1)
    assert finished.began == stopped.began
    assert finished.minutes >= stopped.minutes


@pytest.mark.slow
def test_a_new_training_hides_the_checkpoint_of_the_old_one(tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    assert train(config).returncode == 0
    (tmp_path / "work/last_checkpoint").write_text(str(tmp_path / "elsewhere/iter_2.pth"), encoding="utf-8")
    resumed = train(config, "--resume")  # the folder was moved: the name alone counts
    assert resumed.returncode == 0, resumed.stderr
    assert "continues from iter_2.pth, after 2 of 2 iterations" in resumed.stdout
    process = subprocess.Popen(command(config), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    while (tmp_path / "work/last_checkpoint").is_file() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert err.splitlines()[-1] == "interrupted"


@pytest.mark.slow
def test_a_checkpoint_of_a_training_is_deployed(tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    assert train(config).returncode == 0
    deploy = [sys.executable, str(ROOT / "tools/deploy.py"), str(config), "--exporter", "torchscript"]
    more = ["--checkpoint", str(tmp_path / "work/iter_2.pth"), "--work-dir", str(tmp_path / "deployed")]
    done = subprocess.run([*deploy, *more], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def statistics_off(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> float:
    """How far the means that batch norms have seen are apart, relative to theirs: every forward pass adds to them."""
    names = [name for name in theirs if name.endswith("running_mean")]
    ours_all, theirs_all = (torch.cat([state[name].flatten() for name in names]) for state in (ours, theirs))
    return float((ours_all - theirs_all).norm() / theirs_all.norm())


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("flags", "off"), [([], 5e-3), (["--amp"], AMP_OFF)])
def test_on_a_gpu(flags: list[str], off: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = {}
    for device in ("gpu", "cpu"):
        folder = tmp_path / device
        folder.mkdir()
        config = write_tiny(folder)
        with monkeypatch.context() as changed:
            if device == "cpu":
                changed.setenv("CUDA_VISIBLE_DEVICES", "")
            done = train(config, "--publish", *(flags if device == "gpu" else []))
        assert done.returncode == 0, done.stderr
        states[device] = torch.load(folder / "work/iter_2.pth", weights_only=True, map_location="cpu")["state_dict"]
    record = TrainingRecord.read(tmp_path / "gpu/weights/tiny.json")
    assert record.training.device == torch.cuda.get_device_name()
    assert statistics_off(states["gpu"], states["cpu"]) < off
    again = train(tmp_path / "gpu/tiny.py", "--resume", *flags)
    assert again.returncode == 0, again.stderr
    assert "continues from iter_2.pth, after 2 of 2 iterations" in again.stdout
