import io
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from zoo.errors import InputError
from zoo.input_kinds import input_kind, kind_of_inputs
from zoo.input_kinds.points import PointsRule
from zoo.input_kinds.proof import input_proof
from zoo.target import AxisRange

KIND = input_kind("points")
RULE = PointsRule((0.0, 1.0), (4, 8))
number = st.floats(-80, 80, width=32)
cloud = arrays.arrays(np.float32, st.tuples(st.integers(0, 8), st.just(4)), elements=number).map(
    lambda points: np.concatenate((points[:, :3], np.abs(points[:, 3:]) / 80), axis=1)
)


def points(count: int, intensity: float = 0.5):
    spread = np.random.default_rng(count).uniform(-10, 10, (count, 4)).astype(np.float32)
    spread[:, 3] = intensity
    return spread


@given(cloud)
def test_a_cloud_comes_back_from_a_file_of_either_format(tmp_path_factory, cloud):
    folder = tmp_path_factory.mktemp("clouds")
    (folder / "a.bin").write_bytes(cloud.tobytes())
    np.save(folder / "a.npy", cloud)
    for suffix in (".bin", ".npy"):
        np.testing.assert_array_equal(KIND.read(folder / f"a{suffix}"), cloud)
    np.testing.assert_array_equal(KIND.decode(KIND.file_content(cloud), "of the request"), cloud)
    np.testing.assert_array_equal(KIND.decode(cloud.tobytes(), "000001.bin"), cloud)


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def npy(array) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.bin", b"x" * 50, r"a\.bin: 50 bytes, expected 16 for each point, float32 x y z intensity"),
        ("a.bin", b"x" * 100, r"a\.bin: 100 bytes, as of nuScenes with 5 columns, expected 16"),
        ("a.pcd.bin", b"x" * 160, r"a\.pcd\.bin: nuScenes' files have 5 columns, expected 4; convert it to \.npy"),
        ("a.ply", b"ply", r"a\.ply: \.ply files are not read; convert it to \.npy: numpy\.save\(FILE"),
        ("a.npy", b"text", r"a\.npy: not an \.npy file; convert"),
        ("a.npy", npy(np.zeros((3, 4), np.float32))[:-5], r"a\.npy: the \.npy file is broken"),
        ("a.npy", npy(np.zeros((3, 4))), r"a\.npy: got float64 \[3, 4\], expected float32 \[n, 4\]"),
        ("a.npy", npy(np.zeros((3, 3), np.float32)), r"a\.npy: got float32 \[3, 3\], expected"),
    ],
)
def test_a_file_of_another_form_is_refused_in_one_line(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message) as error:
        KIND.read(written(tmp_path, name, content))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("rows", [10**9, 10**13, 10**30])
def test_an_npy_file_whose_header_claims_more_than_it_has_is_refused(rows):
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f4", "fortran_order": False, "shape": (rows, 4)})
    with pytest.raises(InputError, match=r"^point cloud a\.npy: the \.npy file is broken"):
        KIND.decode(content.getvalue() + bytes(64), "a.npy")


@pytest.mark.parametrize("name", ["a.bin", "a.npy"])
def test_more_points_than_the_bound_are_refused(tmp_path, monkeypatch, name):
    cloud = np.zeros((3, 4), np.float32)
    file = written(tmp_path, name, cloud.tobytes() if name == "a.bin" else npy(cloud))
    monkeypatch.setenv("ZOOPORT_MAX_POINTS", "2")
    for read in (lambda: KIND.read(file), lambda: KIND.decode(file.read_bytes(), name)):
        with pytest.raises(InputError, match="3 points, more than the bound of 2; .* set ZOOPORT_MAX_POINTS=3 where"):
            read()
    monkeypatch.setenv("ZOOPORT_MAX_POINTS", "3")
    assert len(KIND.read(file)) == 3


def test_a_bound_that_is_none_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOOPORT_MAX_POINTS", "many")
    with pytest.raises(InputError, match="ZOOPORT_MAX_POINTS=many: expected a number of points from 1 to 2147483647;"):
        KIND.read(written(tmp_path, "a.bin", bytes(16)))


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=r"a\.bin: no such file"):
        KIND.read(tmp_path / "a.bin")
    with pytest.raises(InputError, match="is a folder"):
        KIND.read(tmp_path)


def test_a_batch_is_filled_up_with_zeros_and_says_where_clouds_end():
    clouds = [points(6), points(0), points(2)]
    shape = KIND.slot_shape(RULE, clouds)
    assert shape == (6, 4)
    tensor = np.full((3, *shape), np.nan, np.float32)
    ends = [KIND.fill(RULE, cloud, slot) for cloud, slot in zip(clouds, tensor, strict=True)]
    assert KIND.companions(ends)["num_points"].tolist() == [6, 0, 2]
    for cloud, slot in zip(clouds, tensor, strict=True):
        np.testing.assert_array_equal(slot[: len(cloud)], cloud)
        assert not slot[len(cloud) :].any()
    assert KIND.slot_shape(RULE, [points(2)]) == (4, 4)  # the fewest that the target takes
    assert KIND.slot_shape(PointsRule(), [points(0)]) == (1, 4)


def test_points_that_are_not_finite_are_left_out():
    cloud = points(7)
    cloud[1, 0], cloud[3, 3], cloud[6, 2] = math.nan, math.inf, -math.inf
    KIND.check_for(RULE, cloud, "point cloud")
    slot = np.full((6, 4), 9, np.float32)
    assert KIND.fill(RULE, cloud, slot) == 4
    np.testing.assert_array_equal(slot[:4], cloud[[0, 2, 4, 5]])
    placed = input_proof(KIND).reference_input(cloud, RULE)
    np.testing.assert_array_equal(placed.tensor[0].numpy(), slot[: placed.tensor.shape[1]])
    assert len(placed.valid(placed.tensor[0], image_sizes=False)) == 4


def test_more_points_than_the_target_takes_are_an_error():
    KIND.check_for(RULE, points(8), "point cloud")
    with pytest.raises(
        InputError, match=r"^point cloud 2: 9 points, this model takes up to 8; .* --dynamic count=4:8:9"
    ):
        KIND.check_for(RULE, points(9), "point cloud 2")
    many = np.concatenate((points(8), np.full((5, 4), np.nan, np.float32)))
    KIND.check_for(RULE, many, "point cloud")  # of which 8 are points


@pytest.mark.parametrize(
    ("trained", "intensity", "message"),
    [
        ((0, 1), 17, "intensities from 17 to 17, the model was trained with 0 to 1; scale the fourth column"),
        ((0, 1), -0.1, "intensities from -0.1 to -0.1, the model"),
        (
            (0, 255),
            0.25,
            "intensities are fractions up to 0.25, the model was trained with 0 to 255; multiply",
        ),
        ((0, 255), 256, "intensities from 256 to 256, the model was trained with 0 to 255"),
    ],
)
def test_intensities_of_another_scale_are_an_error(trained, intensity, message):
    rule = KIND.rule({"intensity": trained})
    with pytest.raises(InputError, match=f"^point cloud: {message}"):
        KIND.check_for(rule, points(5, intensity), "point cloud")


def test_intensities_of_the_models_own_scale_pass():
    for trained, intensity in (((0, 1), 0), ((0, 1), 1), ((0, 255), 0), ((0, 255), 1), ((0, 255), 17.5)):
        KIND.check_for(KIND.rule({"intensity": trained}), points(5, intensity), "point cloud")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"intensty": (0, 1)}, 'unknown key "intensty"; nearest: "intensity"'),
        ({"intensity": (1, 0)}, r"got intensity \(1, 0\), expected \(lowest, highest\)"),
        ({"intensity": 255}, "got intensity 255, expected"),
        ({"intensity": (0, math.nan)}, "got intensity"),
        ({"count": (5, 4)}, r"got count \(5, 4\), expected \(fewest, most\)"),
        ({"count": (0, 4)}, "1 or more"),
    ],
)
def test_a_wrong_section_is_refused(fields, message):
    with pytest.raises(InputError, match=message):
        KIND.rule(fields)


def test_the_targets_count_is_kept_in_the_manifest_and_compared_with_its_axes():
    rule = KIND.target_rule(PointsRule((0.0, 255.0)), {"count": AxisRange(2, 4, 16)})
    assert rule.to_dict() == {"intensity": [0.0, 255.0], "count": [2, 16]}
    assert KIND.rule(rule.to_dict()) == rule
    spec = {"name": "points", "shape": ["batch", "count", 4]}
    axes = {"count": {"min": 2, "opt": 4, "max": 16}}
    assert list(KIND.contradictions(rule.to_dict(), spec, axes)) == []
    (fault,) = KIND.contradictions(rule.to_dict(), spec, {"count": {"min": 2, "opt": 4, "max": 8}})
    assert fault == "preprocess.count: got [2, 16], and points takes 2 to 8"


def test_ends_beyond_the_tensor_are_refused():
    arrays = {"points": np.zeros((2, 3, 4), np.float32), "num_points": np.array([0, 3])}
    KIND.check_arrays(arrays)
    for wrong in (-1, 4):
        with pytest.raises(InputError, match=rf'"num_points": got \[0, {wrong}\], expected 0 to 3'):
            KIND.check_arrays({**arrays, "num_points": np.array([0, wrong])})
    assert kind_of_inputs(arrays) is KIND


def test_the_graphs_cases_have_larger_clouds_thinned_and_other_ends():
    proof = input_proof(KIND)
    clouds = [points(20), points(3), points(6)]
    arrays = proof.graph_arrays(clouds, {"count": 6}, RULE, image_sizes=False)
    assert arrays["num_points"].tolist() == [6, 3, 6]
    kept = {tuple(point) for point in clouds[0].tolist()}
    assert all(tuple(point) in kept for point in arrays["points"][0].tolist())
    ends = proof.other_ends(arrays, [0, 1, 2])
    assert ends["num_points"].tolist() == [6, 0, 3]
    np.testing.assert_array_equal(ends["points"], arrays["points"])


@given(cloud)
def test_a_self_test_keeps_a_cloud_to_the_centimetre(cloud):
    packed, settings = input_proof(KIND).packed(cloud, {"count": 8}, PointsRule(), 2, image_sizes=False)
    assert not settings
    inputs = KIND.unpacked(packed)
    assert inputs["points"].shape == (2, 8, 4)
    assert inputs["num_points"].tolist() == [len(cloud)] * 2
    np.testing.assert_allclose(inputs["points"][1, : len(cloud), :3], cloud[:, :3], atol=0.0051)
    np.testing.assert_allclose(inputs["points"][1, : len(cloud), 3], cloud[:, 3], atol=0.5 / 255 + 1e-6)
    KIND.check_for(PointsRule(), inputs["points"][0], "point cloud")


def test_composed_clouds_fit_where_the_first_fits():
    clouds = [("a", points(20)), ("b", points(12))]
    composed = dict(input_proof(KIND).composed(clouds))
    assert all(len(cloud) <= 20 and cloud.dtype == np.float32 for cloud in composed.values())
    np.testing.assert_array_equal(np.sort(composed["a (shuffled)"], axis=0), np.sort(clouds[0][1], axis=0))
    assert composed["a (mirrored)"][0, 1] == -clouds[0][1][0, 1]
