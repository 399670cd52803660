"""`zooport predict`: sources, files, faults, and what is refused before anything runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from backends import load
from tests.backends.conftest import Recipe, rewrite_manifest, write_deployment
from tests.predicting.conftest import Predict
from tests.zoo.sources.videos import write_video
from zoo.errors import BackendUnavailableError
from zoo.tables import parquet

ROOT = Path(__file__).parents[2]
EXTRAS = ("torch", "mmengine", "onnx", "scipy", "PIL", "jinja2", "rich", "pycocotools", "pyarrow", "yaml")
CORE_ALONE = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
from zooport.entry import main
sys.exit(main(sys.argv[1:]))
"""
BOXES = {"0": 0, "1": 0, "2": 1, "3": 2, "4": 3, "5": 4}  # of photos


def boxes(path: Path) -> int:
    return len(json.loads(path.read_text(encoding="utf-8")))


class TestFiles:
    def test_a_folder(self, predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
        out, data = tmp_path / "found", tmp_path / "data.json"
        run = predict(detector, photos, "--out", out, "--draw", "--json", data)
        assert (run.code, run.err) == (0, "")
        assert {path.stem: boxes(path) for path in out.glob("*.json")} == BOXES
        assert sorted(path.name for path in out.iterdir()) == sorted(
            f"{name}{ending}" for name in BOXES for ending in (".json", "_drawn.png")
        )
        content = json.loads(data.read_text(encoding="utf-8"))
        assert (content["exit_code"], content["inputs"], content["failed"], len(content["written"])) == (0, 6, [], 12)

    def test_workers_write_the_same(self, predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
        (photos / "2a.png").write_bytes(b"no image")
        out = {workers: tmp_path / str(workers) for workers in (0, 3)}
        for workers, folder in out.items():
            flags = ["--workers", workers] if workers else []
            run = predict(detector, photos, "--out", folder, "--format", "files", "jsonl", *flags)
            assert (run.code, run.err.count("\n")) == (6, 2)
        written = [{path.name: path.read_bytes() for path in folder.glob("[0-9p]*")} for folder in out.values()]
        assert len(written[0]) == 7
        assert written[0] == written[1]

    @pytest.mark.parametrize(
        ("cpus", "flags", "workers"),
        [
            (6, ["photos"], "auto"),
            (7, ["photos"], None),  # too few images: all threads for each of them
            (1, ["photos"], None),
            (3, ["photos", "--limit", "2"], None),
            (3, ["street.avi"], "auto"),
            (3, ["photos", "--workers", "2"], 2),
            (3, ["photos", "--device", "cuda"], None),
        ],
    )
    def test_as_many_workers_as_cpus_where_there_are_images_for_all(
        self,
        predict: Predict,
        detector: Path,
        photos: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        cpus: int,
        flags: list[str],
        workers: object,
    ) -> None:
        write_video(tmp_path / "street.avi", frames=4)
        photos.rename(tmp_path / "photos")
        monkeypatch.chdir(tmp_path)
        requested = []

        def spy(*arguments: object, **options: object) -> object:
            requested.append(options["workers"])
            return load(*arguments, **options)

        for module in ("backends.loading", "zooport.prediction_session"):
            monkeypatch.setattr(f"{module}.default_threads", lambda: cpus)
        monkeypatch.setattr("zooport.prediction_session.load", spy)
        run = predict(detector, *flags, "--out", "found", "--format", "jsonl")
        assert requested == [workers]
        assert run.code == (4 if "cuda" in flags else 0)
        if workers == "auto":
            predict(detector, *flags, "--out", "one", "--format", "jsonl", "--workers", 1)
            assert Path("found/predictions.jsonl").read_bytes() == Path("one/predictions.jsonl").read_bytes()

    def test_the_threads_of_a_manifest_are_kept(
        self, predict: Predict, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_deployment(tmp_path / "deployment", Recipe(batch=1))
        rewrite_manifest(folder, threads=2)
        threads = []
        monkeypatch.setattr("zooport.prediction_session.default_threads", lambda: 2)
        monkeypatch.setattr(
            "backends.backend.LoadOptions.call_threads", lambda options, manifest: threads.append(options.workers)
        )
        assert predict(folder, photos).code == 0
        assert threads == [None]

    def test_images_cut_into_windows_are_counted_as_images_with_workers(
        self, predict: Predict, slide: Path, photos: Path, tmp_path: Path
    ) -> None:
        run = predict(slide, photos, "--out", tmp_path / "out", "--workers", 2)
        assert (run.code, run.err) == (0, "")
        assert "6/6 images" in run.out
        assert " windows" not in run.out

    def test_flags_and_sources_in_any_order(
        self, predict: Predict, detector: Path, photos: Path, tmp_path: Path
    ) -> None:
        run = predict("--out", tmp_path / "a", detector, photos / "3.png", "--draw", photos / "4.png")
        assert (run.code, len(list((tmp_path / "a").glob("*.json")))) == (0, 2)

    def test_without_out_a_line_says_what_was_found(self, predict: Predict, detector: Path, photos: Path) -> None:
        run = predict(detector, photos / "1.png", photos / "4.png", "--score", "0.3")
        assert (run.code, run.err) == (0, "")
        assert f"{photos / '1.png'}: no objects\n" in run.out
        assert f"{photos / '4.png'}: 2 objects: c1, c2; best score 0.63\n" in run.out

    def test_two_images_of_one_name_keep_their_folders(
        self, predict: Predict, detector: Path, photos: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "more" / "3.png"
        other.parent.mkdir()
        cv2.imwrite(str(other), np.full((64, 96, 3), 200, np.uint8))
        run = predict(detector, "--image", photos / "3.png", other, "--out", tmp_path / "out")
        assert (run.code, run.err) == (0, "")
        assert boxes(tmp_path / "out/my photos/3.json") == 2
        assert boxes(tmp_path / "out/more/3.json") == 4

    def test_score_and_classes(self, predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
        more = ["--score", "0.3", "--classes", "c2", "c3"]
        assert predict(detector, photos / "5.png", "--out", tmp_path, *more).code == 0
        (found,) = json.loads((tmp_path / "5.json").read_text(encoding="utf-8"))
        assert (found["class"], round(found["score"], 2)) == ("c2", 0.39)

    def test_a_list_on_standard_input(self, predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
        names = f"{photos / '3.png'}\n{photos / 'none.png'}\n{photos / '4.png'}\n"
        run = predict(detector, "-", "--out", tmp_path / "out", stdin=os.fsencode(names))
        assert run.code == 6
        assert f"failed: image {photos / 'none.png'}: no such file\n" in run.err
        assert sorted(path.name for path in (tmp_path / "out").glob("*.json")) == ["3.json", "4.json"]

    def test_a_list_with_the_folder_itself(
        self, predict: Predict, detector: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`find -print0` begins with it."""
        monkeypatch.chdir(photos.parent)
        names = f".\0./{photos.name}/3.png\0/\0"
        run = predict(detector, "-", "--out", tmp_path / "out", stdin=os.fsencode(names))
        assert run.code == 6
        assert "failed: image .: " in run.err
        assert [path.name for path in (tmp_path / "out").glob("*.json")] == ["3.json"]

    def test_a_video_and_its_annotated_twin(self, predict: Predict, detector: Path, tmp_path: Path) -> None:
        video = write_video(tmp_path / "street.avi", frames=8, rate=10.0)
        run = predict(detector, video, "--out", tmp_path / "out", "--draw")
        assert (run.code, run.err) == (0, "")
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["street", "street_drawn.mp4"]
        assert sorted(path.name for path in (tmp_path / "out/street").iterdir()) == [f"{n:06}.json" for n in range(8)]
        drawn = cv2.VideoCapture(str(tmp_path / "out/street_drawn.mp4"))
        assert (drawn.get(cv2.CAP_PROP_FRAME_COUNT), drawn.get(cv2.CAP_PROP_FPS)) == (8, 10)
        drawn.release()

    def test_the_first_ones_alone(self, predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
        assert predict(detector, photos, "--out", tmp_path / "out", "--limit", 2).code == 0
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["0.json", "1.json"]


def test_the_core_is_enough(detector: Path, photos: Path, tmp_path: Path) -> None:
    """Neither rich nor anything of an extra: images, a video, a fault, a table and drawings."""
    write_video(photos / "street.avi", frames=3)
    (photos / "3.png").write_bytes(b"no image")
    arguments = ["predict", detector, photos, "--out", tmp_path / "out", "--draw", "--format", "files", "csv", "coco"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", CORE_ALONE, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (6, 2), done.stderr
    assert (tmp_path / "out/street_drawn.mp4").is_file()
    assert "predict: 9/9 images" in done.stdout


class TestFaults:
    def test_a_bad_image_is_one_line_and_the_run_goes_on(
        self, predict: Predict, detector: Path, photos: Path, tmp_path: Path
    ) -> None:
        (photos / "3.png").write_bytes(b"no image")
        content = (photos / "4.png").read_bytes()
        (photos / "4.png").write_bytes(content[: len(content) // 2])
        out, data = tmp_path / "found", tmp_path / "data.json"
        run = predict(detector, photos, "--out", out, "--json", data)
        assert run.code == 6
        lines = run.err.splitlines()
        assert len(lines) == 3
        assert lines[0].startswith(f"failed: image {photos / '3.png'}: not an image that can be read")
        assert lines[1].startswith(f"failed: image {photos / '4.png'}: corrupt or truncated")
        assert lines[2].startswith(f"error: 2 of 6 inputs failed, the first: image {photos / '3.png'}: ")
        assert lines[2].endswith(f"files written: 4, the last {out / '5.json'}; continue with --resume")
        reported = json.loads(data.read_text(encoding="utf-8"))
        assert (reported["exit_code"], len(reported["failed"]), len(reported["written"])) == (6, 2, 4)

    def test_a_video_cut_in_half(self, predict: Predict, detector: Path, tmp_path: Path) -> None:
        video = write_video(tmp_path / "a.avi", frames=60)
        video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
        run = predict(detector, video, "--out", tmp_path / "out", "--draw", "--format", "csv")
        assert run.code == 6
        assert "of 60 frames; use a complete video" in run.err
        assert (tmp_path / "out/a_drawn.mp4").exists()

    def test_a_camera_that_is_not_there(self, predict: Predict, detector: Path, tmp_path: Path) -> None:
        run = predict(detector, 987, "--out", tmp_path / "out")
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert "camera 987: no camera with this number responds" in run.err

    def test_a_full_disk(
        self, predict: Predict, detector: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(path: Path, content: bytes, **_: object) -> None:
            if path.name == "3.json":
                raise OSError(28, "No space left on device", str(path))
            path.write_bytes(content)

        out = tmp_path / "out"
        with monkeypatch.context() as patch:
            patch.setattr("zoo.tables.output.write_whole", full)
            run = predict(detector, photos, "--out", out, "--format", "files", "jsonl")
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert "No space left on device" in run.err
        assert "files written: 3" in run.err
        assert run.err.endswith("; continue with --resume\n")
        assert not (out / "predictions.jsonl").exists()
        again = predict(detector, photos, "--out", out, "--format", "files", "jsonl", "--resume")
        assert (again.code, len((out / "predictions.jsonl").read_text().splitlines())) == (0, 6)


class TestRefused:
    @pytest.fixture
    def arguments(self, detector: Path, photos: Path, tmp_path: Path) -> list[object]:
        return [detector, photos, "--out", tmp_path / "out"]

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (["--format", "cocoa"], '--format: unknown format "cocoa"; nearest: "coco"'),
            (["--classes", "c9"], 'unknown class "c9"; nearest: "c'),
            (["--limit", "0"], "--limit 0: expected 1 or more"),
            (["--workers", "0"], "--workers 0: expected 1 or more"),
            (["--score", "nan"], "--score nan: expected a number from 0 to 1"),
            (["--score", "50"], "--score 50: expected a number from 0 to 1"),
            (["--image", "."], "--image .: not a file; name a folder as SOURCE"),
            (["--annotations", "a.json"], "--annotations is for --format coco"),
            (["--annotations", "none.json", "--format", "coco"], "--annotations none.json: cannot be read"),
            (["--image", "none.png"], "--image none.png: no such file"),
            (["none*.png"], "none*.png: no file matches"),
            (["--resume", "0"], "--resume: camera 0 cannot be read again from where it stopped"),
            (["--input", "scale"], "--input scale: expected NAME=NUMBER"),
            (["--input", "scale=2"], 'unknown input "scale"'),
            (["--reszume"], 'unknown argument --reszume; nearest: "--resume"'),
        ],
    )
    def test_in_one_line(self, predict: Predict, arguments: list[object], more: list[str], message: str) -> None:
        run = predict(*arguments, *more)
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert message in run.err

    def test_flags_that_need_out(self, predict: Predict, detector: Path, photos: Path) -> None:
        for flag in (["--draw"], ["--resume"], ["--format", "csv"]):
            run = predict(detector, photos, *flag)
            assert (run.code, f"{flag[0]} without --out" in run.err) == (2, True)
        assert "no SOURCE: give an image" in predict(detector).err

    def test_no_meaning_for_the_task(self, predict: Predict, segmentor: Path, photos: Path, tmp_path: Path) -> None:
        run = predict(segmentor, photos, "--out", tmp_path / "out", "--score", "0.5")
        assert (run.code, "--score: task semantic-segmentation has no scores" in run.err) == (2, True)

    def test_an_image_is_never_overwritten(self, predict: Predict, segmentor: Path, photos: Path) -> None:
        before = (photos / "3.png").read_bytes()
        run = predict(segmentor, "--image", photos / "3.png", "--out", photos)
        assert (run.code, "3.png would overwrite an input" in run.err) == (2, True)
        assert (photos / "3.png").read_bytes() == before

    @pytest.mark.parametrize("other", ["street_drawn.mp4", "street/000000.png"])
    def test_a_video_overwrites_no_input(
        self, predict: Predict, segmentor: Path, photos: Path, tmp_path: Path, other: str
    ) -> None:
        place, out = tmp_path / "out" / other, tmp_path / "out"
        place.parent.mkdir(parents=True)
        video = write_video(out / "street.avi", frames=2)
        shutil.copy(video if place.suffix == ".mp4" else photos / "3.png", place)
        before = place.read_bytes()
        run = predict(segmentor, video, place, "--out", out, "--draw")
        assert (run.code, "overwrite" in run.err) == (2, True)
        assert place.read_bytes() == before

    def test_tables_alone_of_a_video_beside_a_folder_of_its_name(
        self, predict: Predict, detector: Path, photos: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "data").mkdir()
        write_video(tmp_path / "data/clip.avi", frames=2)
        photos.rename(tmp_path / "data/clip")
        more = ("--recursive", "--out", tmp_path / "out", "--format", "csv")
        assert predict(detector, tmp_path / "data", *more).code == 0

    def test_no_result_overwrites_another(
        self, predict: Predict, segmentor: Path, photos: Path, tmp_path: Path
    ) -> None:
        shutil.copy(photos / "1.png", photos / "3_drawn.png")
        run = predict(segmentor, photos, "--out", tmp_path / "out", "--draw")
        assert (run.code, "two results would be called 3_drawn.png; rename" in run.err) == (2, True)
        assert not (tmp_path / "out").exists()

    def test_a_name_that_is_too_long_for_its_results(
        self, predict: Predict, segmentor: Path, photos: Path, tmp_path: Path
    ) -> None:
        long = "x" * 246
        shutil.copy(photos / "1.png", photos / f"{long}.png")
        assert predict(segmentor, photos, "--out", tmp_path / "out").code == 0
        assert (tmp_path / "out" / f"{long}.png").is_file()
        run = predict(segmentor, photos, "--out", tmp_path / "drawn", "--draw")
        assert (run.code, "has more than 255 bytes; give its image a shorter name" in run.err) == (2, True)

    def test_a_folder_that_is_source_and_out(self, predict: Predict, detector: Path, photos: Path) -> None:
        for out, more in ((photos, []), (photos / "out", ["--recursive"])):
            run = predict(detector, photos, "--out", out, *more)
            assert (run.code, "would be read as images again" in run.err) == (2, True)
        assert len(list(photos.iterdir())) == 6

    def test_a_folder_that_is_a_file(self, predict: Predict, detector: Path, photos: Path) -> None:
        run = predict(detector, photos, "--out", photos / "1.png")
        assert (run.code, "cannot be written" in run.err) == (2, True)

    def test_a_level_without_results(self, predict: Predict, photos: Path, tmp_path: Path) -> None:
        place = write_deployment(tmp_path / "decoded", Recipe(task="SemanticSegmentation", level="decoded"))
        run = predict(place, photos, "--out", tmp_path / "out")
        assert (run.code, 'output level "decoded" has no results' in run.err) == (2, True)

    def test_without_pyarrow_one_line_says_what_to_install(
        self, predict: Predict, arguments: list[object], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def missing(name: str, extra: str, use: str) -> None:
            raise BackendUnavailableError(
                f'pyarrow is not installed, and {use} needs it: pip install "zooport[{extra}]"'
            )

        monkeypatch.setattr(parquet, "optional_library", missing)
        run = predict(*arguments, "--format", "parquet")
        assert (run.code, run.err.count("\n")) == (4, 1)
        assert '--format parquet needs it: pip install "zooport[parquet]"' in run.err
