import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.errors import InputError
from zoo.geometry import wrapped_angle
from zoo.kitti import (
    NOMINAL,
    Calibration,
    difficulties,
    image_boxes,
    label_text,
    objects_of_boxes,
    points_frame_boxes,
    read_label,
)
from zoo.kitti.boxes import corners_3d

LABEL = (
    "Car 0.00 0 1.85 387.63 181.54 423.81 203.12 1.67 1.87 3.69 -16.53 2.39 58.49 1.57\n"
    "Pedestrian 0.31 2 -0.20 712.40 143.00 810.73 307.92 1.89 0.48 1.20 1.84 1.47 8.41 0.01\n"
    "Cyclist 0.00 3 -1.65 676.60 163.95 688.98 193.93 1.86 0.60 2.02 4.59 1.32 45.84 -0.00\n"
    "DontCare -1 -1 -10 503.89 169.71 590.61 190.13 -1 -1 -1 -1000 -1000 -1000 -10\n"
)
"""Lines as KITTI's own files have them."""
CALIBRATION = """\
P0: 7.200946000000e+02 0.000000000000e+00 6.089497000000e+02 0.000000000000e+00 0.000000000000e+00 7.215377000000e+02 \
1.730269000000e+02 0.000000000000e+00 0.000000000000e+00 0.000000000000e+00 1.000000000000e+00 0.000000000000e+00
P1: 7.229808000000e+02 0.000000000000e+00 6.113880000000e+02 -3.864117000000e+02 0.000000000000e+00 7.200946000000e+02 \
1.726811000000e+02 0.000000000000e+00 0.000000000000e+00 0.000000000000e+00 1.000000000000e+00 0.000000000000e+00
P2: 7.215377000000e+02 0.000000000000e+00 6.101689000000e+02 4.494699000000e+01 0.000000000000e+00 7.237023000000e+02 \
1.723354000000e+02 2.159463000000e-01 0.000000000000e+00 0.000000000000e+00 1.000000000000e+00 2.743138000000e-03
P3: 7.215377000000e+02 0.000000000000e+00 6.101689000000e+02 -3.402032000000e+02 0.000000000000e+00 7.237023000000e+02 \
1.723354000000e+02 2.195536000000e+00 0.000000000000e+00 0.000000000000e+00 1.000000000000e+00 2.727175000000e-03
R0_rect: 9.999239000000e-01 9.847598000000e-03 -7.459938000000e-03 -9.899404000000e-03 9.969423000000e-01 \
-4.269902000000e-03 7.395124000000e-03 4.351614000000e-03 1.000963000000e+00
Tr_velo_to_cam: 7.548812000000e-03 -1.002971000000e+00 -6.147522000000e-04 -4.061626000000e-03 1.478769000000e-02 \
7.280733000000e-04 -1.000890000000e+00 -7.646881000000e-02 1.002862000000e+00 7.501219000000e-03 1.477793000000e-02 \
-2.715088000000e-01
Tr_imu_to_velo: 9.999976000000e-01 7.560624000000e-04 -2.039898000000e-03 -8.111019000000e-01 -7.830465000000e-04 \
9.978900000000e-01 -1.480816000000e-02 3.195559000000e-01 2.026430000000e-03 1.485419000000e-02 1.002888000000e+00 \
-7.973239000000e-01

"""
"""In the form of KITTI's object data set; the numbers are made up."""


def tilted() -> Calibration:
    """As a real car has it: about a degree off the axes."""

    def turned(axis: int, angle: float):
        cosine, sine = math.cos(angle), math.sin(angle)
        rotation = np.eye(3)
        first, second = [each for each in range(3) if each != axis]
        rotation[[first, first, second, second], [first, second, first, second]] = cosine, -sine, sine, cosine
        return rotation

    to_camera = NOMINAL.to_camera.copy()
    to_camera[:, :3] = turned(0, 0.014) @ turned(1, -0.009) @ turned(2, 0.011) @ to_camera[:, :3]
    projection = NOMINAL.projection.copy()
    projection[:, 3] = 44.86, 0.216, 0.00275
    return Calibration(projection, turned(0, 0.004) @ turned(2, -0.008), to_camera)


box = st.tuples(
    st.floats(4, 60), st.floats(-20, 20), st.floats(-2, 1), *[st.floats(0.3, 6)] * 3, st.floats(-math.pi, math.pi)
)


@given(st.lists(box, max_size=5), st.booleans())
def test_boxes_come_back_from_the_cameras_frame(boxes, straight):
    calibration = NOMINAL if straight else tilted()
    boxes = np.array(boxes, np.float32).reshape(-1, 7)
    objects = objects_of_boxes(boxes, ["Car"] * len(boxes), calibration, occlusions=[0] * len(boxes))
    back = points_frame_boxes(objects, calibration)
    np.testing.assert_allclose(back[:, :6], boxes[:, :6], atol=2e-5)
    # KITTI's turn is about the camera's axis: of a tilt of a degree a ten-thousandth of a radian is lost
    assert np.abs(wrapped_angle(back[:, 6] - boxes[:, 6])).max(initial=0) < (1e-6 if straight else 1e-3)
    assert np.all((back[:, 6] >= np.float32(-np.pi)) & (back[:, 6] < np.float32(np.pi)))


def test_a_box_ahead_is_where_kitti_has_it():
    """A car that stands 10 m ahead and looks away from the camera."""
    ahead = np.array([[10.27, 0.0, -0.95, 4.0, 1.6, 1.5, 0.0]])
    (car,) = objects_of_boxes(ahead, ["Car"], NOMINAL, occlusions=[1])
    assert car.place == pytest.approx((0, 0.95 + 0.75 - 0.08, 10))  # right, down, forward, of its bottom
    assert car.size == pytest.approx((1.5, 1.6, 4.0))  # height, width, length
    assert car.turn == pytest.approx(-math.pi / 2)  # 0 looks to the right, -90 degrees away
    assert car.alpha == pytest.approx(-math.pi / 2)
    assert (car.truncation, car.occlusion, car.score) == (0, 1, None)
    nearest = 10 - 2
    assert car.box[2] - car.box[0] == pytest.approx(721.5377 * 1.6 / nearest)
    (left,) = objects_of_boxes(np.array([[10.27, 5.0, -0.95, 4.0, 1.6, 1.5, math.pi / 2]]), ["Car"], NOMINAL)
    assert left.place[0] == pytest.approx(-5)
    assert abs(left.turn) == pytest.approx(math.pi)
    assert label_text([left]).startswith("Car -1 -1 ")


def test_a_box_that_leaves_the_image_is_truncated():
    aside = np.array([[6.0, 4.5, -1, 4.0, 1.6, 1.5, 0.0], [14.0, 0, -1, 4.0, 1.6, 1.5, 0], [6, 40, -1, 4, 1.6, 1.5, 0]])
    cut, whole, outside = objects_of_boxes(aside, ["Car"] * 3, NOMINAL, occlusions=[0] * 3)
    assert 0.1 < cut.truncation < 0.9
    assert cut.box[0] == 0
    assert whole.truncation < 0.1
    assert outside.truncation == pytest.approx(1)
    assert image_boxes(aside, NOMINAL)[0, 0] < 0


def seen_edges(box: np.ndarray) -> np.ndarray:
    """Places along the edges of a box [7] that are in front of the nominal camera, x y z in its frame [n, 3]."""
    corners = NOMINAL.in_camera(corners_3d(box[None])[0])
    ends = [(first, second) for first in corners for second in corners]  # the diagonals are inside of it
    places = np.concatenate([np.linspace(first, second, 4001) for first, second in ends])
    return places[places[:, 2] >= 0.1]


@pytest.mark.parametrize(
    "box",
    [
        (20.0, 1, -1, 4, 1.6, 1.5, 0.3),
        (1.0, 2.2, -0.4, 4, 1.6, 1.5, 0.0),  # beside the sensor, its back behind the camera
        (0.3, 0.0, -1.5, 4, 1.6, 1.5, 1.2),
        (-1.0, -0.7, -0.2, 3, 3, 0.3, 0.7),  # a corner is in front
    ],
)
def test_the_image_box_is_around_what_is_in_front_of_the_camera(box):
    box = np.array(box)
    pixels = [(NOMINAL.projected(place)[:2] / place[2]).tolist() for place in seen_edges(box)]
    expected = np.concatenate((np.min(pixels, axis=0), np.max(pixels, axis=0)))
    np.testing.assert_allclose(image_boxes(box[None], NOMINAL)[0], expected, rtol=0.02, atol=0.5)


def test_a_box_behind_the_camera_has_no_image_box():
    behind = np.array([[-10.0, 0, -0.5, 4, 1.6, 2.5, 0.3], [-1.8, 0, -0.5, 4, 1.6, 2.5, 0.0]])
    assert not image_boxes(behind, NOMINAL).any()
    assert image_boxes(np.zeros((0, 7)), NOMINAL).shape == (0, 4)


def test_a_label_file_comes_back_unchanged():
    objects = [entry for _, entry in read_label(LABEL)]
    assert label_text(objects) == LABEL
    assert objects[1].size == (1.89, 0.48, 1.2)
    scored = LABEL.splitlines()[0] + " 0.912345\n"
    ((number, entry),) = read_label(scored)
    assert (number, entry.score) == (1, 0.912345)
    assert label_text([entry]) == scored


def test_boxes_of_a_label_file_come_back_as_the_same_text():
    for calibration in (NOMINAL, tilted()):
        (car,) = [entry for _, entry in read_label(LABEL) if entry.type == "Car"]
        boxes = points_frame_boxes([car], calibration)
        (back,) = objects_of_boxes(boxes, ["Car"], calibration, occlusions=[0])
        kept = car._replace(size=back.size, place=back.place, turn=back.turn)  # the image box is the annotator's
        assert label_text([kept]) == label_text([car])


def test_a_type_of_two_words_is_written_as_one():
    ((_, car),) = read_label(LABEL.splitlines()[0])
    ((_, back),) = read_label(label_text([car._replace(type="Traffic cone")]))
    assert back == car._replace(type="Traffic_cone")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Car 0.00 0 1.85", "got 4 words, expected a type, 14 numbers"),
        (LABEL.splitlines()[0].replace("1.85", "x"), "expected 14 numbers"),
        (LABEL.splitlines()[0].replace("1.85", "nan"), "not finite"),
        (LABEL.splitlines()[0].replace("1.67 1.87", "0.00 1.87"), "got height, width and length 0 1.87 3.69"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(line, message):
    ((number, words),) = read_label(f"\n{line}\n")
    assert number == 2
    assert message in words


def test_a_calibration_comes_back_from_its_file():
    calibration = tilted()
    back = Calibration.from_text(calibration.to_text(), "calib.txt")
    for name in ("projection", "rectification", "to_camera"):
        np.testing.assert_allclose(getattr(back, name), getattr(calibration, name), rtol=1e-11, atol=1e-11)
    points = np.random.default_rng(0).uniform(1, 9, (5, 3))
    np.testing.assert_allclose(back.from_camera(back.in_camera(points)), points, atol=1e-9)


def test_a_calib_file_comes_back_unchanged():
    assert Calibration.from_text(CALIBRATION, "calib.txt").to_text() == CALIBRATION


@pytest.mark.parametrize("key", ["P2", "R0_rect", "Tr_velo_to_cam"])
@pytest.mark.parametrize(
    ("number", "words"), [("nan", "a number that is not finite"), ("inf", "not finite"), ("0", "no inverse")]
)
def test_a_calibration_that_nothing_can_be_projected_by_is_refused(key, number, words):
    lines = [
        f"{key}: {' '.join([number] * len(line.split()[1:]))}" if line.startswith(key) else line
        for line in CALIBRATION.splitlines()
    ]
    place = next(at for at, line in enumerate(lines, 1) if line.startswith(key))
    with pytest.raises(InputError, match=rf"^c\.txt, line {place}: {key} .*{words}"):
        Calibration.from_text("\n".join(lines), "c.txt")


def test_a_calibration_that_lacks_something_is_refused():
    text = NOMINAL.to_text()
    with pytest.raises(InputError, match=r"^c\.txt: no R0_rect, expected a calib file"):
        Calibration.from_text("\n".join(line for line in text.splitlines() if "R0" not in line), "c.txt")
    with pytest.raises(InputError, match=r"^c\.txt, line 1: expected P2: and 12 numbers"):
        Calibration.from_text("P2: 1 2 3", "c.txt")


def test_difficulty_is_that_of_the_development_kit():
    levels = difficulties([41, 40, 26, 25, 41, 41, 41, 41], [0, 0, 0, 0, 1, 2, 3, 0], [0.15, 0, 0, 0, 0, 0, 0, 0.5])
    assert levels.tolist() == [0, 1, 1, -1, 1, 2, -1, 2]
