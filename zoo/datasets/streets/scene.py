"""A synthetic scene: a road with walls, objects and clutter, as the simulated sensor sees it. The same on every run."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zoo.datasets.streets.lidar import AZIMUTHS, HEIGHT, RANGE, RAYS, measured
from zoo.datasets.streets.objects import CLASSES, DARK, SHARES, parts, random_size
from zoo.datasets.streets.surfaces import SURFACES
from zoo.geometry import wrapped_angle
from zoo.kitti import IMAGE_SIZE, NOMINAL, difficulties, image_boxes
from zoo.kitti.boxes import clipped_to_image

Array = NDArray[np.float64]

VERSION = 1
SEED = 26
SPLITS = {"train": 0, "gate": 1, "shipped": 2}
FEWEST_POINTS = 5  # of an object that has a label
MARGIN = 0.05  # metres around a box in which points count as its own: their noise
NEAREST, FARTHEST, ASIDE, ANGLE = 3.5, 39.5, 19.0, 43.0  # metres ahead, metres aside, degrees: where objects are
TRIES = 20
VISIBLE = (0.8, 0.4)  # parts of an object's rays that end on it: fully visible, partly


@dataclass(frozen=True)
class StreetScene:
    """`points` float32 [n, 4]: x y z in metres, x forward, y left, z up, the sensor at the origin; intensity 0..1.

    `boxes` float32 [m, 7], `labels` int64 [m] (indices of CLASSES): objects of five points or more. `occlusions` int64
    [m]: 0 fully visible, 1 partly, 2 largely. `difficulty` int64 [m]: 0, 1, 2, or -1 for ignored; as KITTI judges an
    object by its box in the image of the nominal camera.
    """

    points: NDArray[np.float32]
    boxes: NDArray[np.float32]
    labels: NDArray[np.int64]
    occlusions: NDArray[np.int64]
    difficulty: NDArray[np.int64]


@dataclass
class View:
    """What the rays [64, A] meet first, so far: the distance, the reflectance there, and the object (-1: none).

    `alone` counts for each object the rays that would end on it without the others.
    """

    ranges: Array
    reflectances: Array
    owners: NDArray[np.int64]
    alone: dict[int, int] = field(default_factory=dict)

    def add(self, bodies: list["Body"], owner: int = -1) -> None:
        """Put bodies into the scene; those of one object together."""
        seen = np.zeros(self.ranges.shape, bool)
        for body in bodies:
            columns = body.columns()
            distance = body.hits(RAYS[:, columns])
            nearer = distance < self.ranges[:, columns]
            seen[:, columns] |= distance < RANGE
            self.ranges[:, columns] = np.where(nearer, distance, self.ranges[:, columns])
            self.reflectances[:, columns] = np.where(nearer, body.reflectance, self.reflectances[:, columns])
            self.owners[:, columns] = np.where(nearer, owner, self.owners[:, columns])
        if owner >= 0:
            self.alone[owner] = int(seen.sum())

    def visible(self, owner: int) -> float:
        """The part of an object's rays that end on it."""
        return float((self.owners == owner).sum()) / max(1, self.alone[owner])


@dataclass(frozen=True)
class Body:
    """A body of one of SURFACES at `centre`, with half sides `half`, turned by `yaw`."""

    surface: str
    centre: Array
    half: Array
    yaw: float
    reflectance: float

    def columns(self) -> slice:
        """Those of the sensor that may meet it."""
        radius, distance = float(np.hypot(*self.half[:2])), float(np.hypot(*self.centre[:2]))
        if distance <= radius + MARGIN:
            return slice(0, len(AZIMUTHS))
        azimuth, reach = np.arctan2(self.centre[1], self.centre[0]), np.arcsin(radius / distance)
        first, last = np.searchsorted(AZIMUTHS, (azimuth - reach, azimuth + reach))
        return slice(int(first), int(last) + 1)

    def hits(self, rays: Array) -> Array:
        """The distances along rays [..., 3]."""
        cosine, sine = np.cos(self.yaw), np.sin(self.yaw)
        rotation = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
        return SURFACES[self.surface](-self.centre @ rotation, rays @ rotation, self.half)


class Street:
    """One scene while it is made. `ground`: its slopes in x and y, and its height below the sensor."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.ground = np.array((rng.normal(0, 0.008), rng.normal(0, 0.008), -HEIGHT + rng.normal(0, 0.04)))
        self.road = float(rng.normal(0, 0.15))  # its direction
        self.taken: list[tuple[float, float, float]] = []  # discs x y radius
        self.boxes: list[Array] = []
        self.labels: list[int] = []
        self.view = self._bare_ground()
        self._walls()
        self._objects()
        self._clutter()

    def height(self, x: float, y: float) -> float:
        """z of the ground."""
        return float(self.ground @ (x, y, 1.0))

    def _bare_ground(self) -> View:
        slopes = RAYS[..., 2] - RAYS[..., :2] @ self.ground[:2]
        with np.errstate(divide="ignore"):
            ranges = np.where(slopes < 0, self.ground[2] / slopes, np.inf)
        ranges = ranges + self.rng.normal(0, 0.01, ranges.shape) / np.maximum(-slopes, 0.03)
        stripes = 0.1 * np.sin(np.where(np.isfinite(ranges), RAYS[..., 1] * ranges, 0) * self.rng.uniform(0.5, 2))
        return View(ranges, self.rng.uniform(0.15, 0.35) + stripes, np.full(ranges.shape, -1))

    def _is_free(self, x: float, y: float, radius: float) -> bool:
        """Whether nothing is there; then it is taken."""
        free = all(np.hypot(x - x1, y - y1) >= radius + radius1 for x1, y1, radius1 in self.taken)
        if free:
            self.taken.append((x, y, radius))
        return free

    def _walls(self) -> None:
        rng = self.rng
        for side in (-1, 1):
            if rng.random() >= 0.7:  # noqa: PLR2004 - a share
                continue
            x, y = rng.uniform(8, 35), side * rng.uniform(9, 19)
            length, height, yaw = rng.uniform(8, 30), rng.uniform(1, 5), self.road + rng.normal(0, 0.05)
            centre = np.array((x, y, self.height(x, y) + height / 2))
            half = np.array((length / 2, 0.2, height / 2))
            self.view.add([Body("box", centre, half, yaw, rng.uniform(0.2, 0.6))])
            along = np.linspace(-length / 2, length / 2, 9)
            self.taken += [(x + place * np.cos(yaw), y + place * np.sin(yaw), 0.9) for place in along]

    def _objects(self) -> None:
        rng = self.rng
        for _ in range(rng.integers(6, 16)):
            label = int(rng.choice(len(CLASSES), p=SHARES))
            size = random_size(label, rng)
            place = self._place(float(np.hypot(*size[:2])) / 2 + 0.25)
            if place is None:
                continue
            x, y = place
            along = label == 0 and rng.random() < 0.65  # noqa: PLR2004 - the share of cars that follow the road
            yaw = self.road + rng.choice((0, np.pi)) + rng.normal(0, 0.1) if along else rng.uniform(-np.pi, np.pi)
            paint = rng.uniform(0.05, 0.9) if label == 0 else rng.uniform(0.1, 0.6)
            box = np.array((x, y, self.height(x, y) + size[2] / 2, *size, yaw))
            bodies = [
                Body(part.surface, _moved(box, part.offset), np.array(part.half), yaw, paint if part.painted else DARK)
                for part in parts(label, size, rng)
            ]
            self.view.add(bodies, len(self.boxes))
            self.boxes.append(box)
            self.labels.append(label)

    def _place(self, radius: float) -> tuple[float, float] | None:
        for _ in range(TRIES):
            x, y = self.rng.uniform(NEAREST, FARTHEST), self.rng.uniform(-ASIDE, ASIDE)
            if abs(np.arctan2(y, x)) < np.deg2rad(ANGLE) and self._is_free(x, y, radius):
                return float(x), float(y)
        return None

    def _clutter(self) -> None:
        """Poles, bushes, bins, hedges and signs: what has no label."""
        for _ in range(self.rng.integers(8, 22)):
            x, y = self.rng.uniform(3, 40), self.rng.uniform(-20, 20)
            bodies = list(self._thing(x, y, self.rng.uniform(0.1, 0.8), self.rng.uniform(-3, 3)))
            if self._is_free(x, y, float(np.hypot(*bodies[0].half[:2])) + 0.2):
                self.view.add(bodies)

    def _thing(self, x: float, y: float, reflectance: float, yaw: float) -> Iterator[Body]:
        rng, ground = self.rng, self.height(x, y)
        kind = int(rng.integers(5))
        if kind == 4:  # noqa: PLR2004 - a sign: its plate and its pole
            yield Body("box", np.array((x, y, ground + 2.2)), np.array((0.4, 0.03, 0.4)), yaw, reflectance)
            yield Body("cylinder", np.array((x, y, ground + 1.1)), np.array((0.04, 0.04, 1.1)), 0.0, reflectance)
            return
        radius = rng.uniform(0.05, 0.25)
        surface, half = (
            ("cylinder", (radius, radius, rng.uniform(1, 3))),
            ("ellipsoid", tuple(rng.uniform(0.3, 1.2, 3))),
            ("box", (*rng.uniform(0.2, 0.6, 2), rng.uniform(0.3, 0.8))),
            ("box", (rng.uniform(0.8, 2.5), rng.uniform(0.4, 1.2), rng.uniform(0.5, 1.4))),
        )[kind]
        yield Body(surface, np.array((x, y, ground + half[2])), np.array(half), yaw, reflectance)


def make_scene(split: str, index: int) -> StreetScene:
    """Scene `index` of a split, one of SPLITS."""
    rng = np.random.default_rng([SEED, VERSION, SPLITS[split], index])
    street = Street(rng)
    points = measured(street.view.ranges, street.view.reflectances, rng)
    boxes = np.array(street.boxes, np.float32).reshape(-1, 7)
    boxes[:, 6] = wrapped_angle(boxes[:, 6])
    shares = np.array([street.view.visible(owner) for owner in range(len(boxes))])
    occlusions = np.select([shares >= VISIBLE[0], shares >= VISIBLE[1]], [0, 1], 2).astype(np.int64)
    labelled = np.array([points_inside(points, box).sum() >= FEWEST_POINTS for box in boxes], bool)
    boxes, occlusions = boxes[labelled], occlusions[labelled]
    labels = np.array(street.labels, np.int64)[labelled]
    return StreetScene(points, boxes, labels, occlusions, difficulty_of(boxes, occlusions))


def points_inside(points: NDArray[np.float32], box: NDArray[np.floating], margin: float = MARGIN) -> NDArray[np.bool_]:
    """Which points [n, 4] are in a box [7], or up to `margin` metres outside of it: bool [n]."""
    cosine, sine = np.cos(box[6]), np.sin(box[6])
    offsets = points[:, :3] - box[:3]
    along, across = offsets[:, 0] * cosine + offsets[:, 1] * sine, offsets[:, 1] * cosine - offsets[:, 0] * sine
    local = np.abs(np.stack((along, across, offsets[:, 2]), axis=1))
    inside: NDArray[np.bool_] = (local < box[3:6] / 2 + margin).all(axis=1)
    return inside


def difficulty_of(boxes: NDArray[np.float32], occlusions: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 [m], by the image of the nominal camera."""
    flat, outside = clipped_to_image(image_boxes(boxes, NOMINAL), IMAGE_SIZE)
    return difficulties(flat[:, 3] - flat[:, 1], occlusions.tolist(), outside.tolist())


def _moved(box: Array, offset: tuple[float, float, float]) -> Array:
    """A place of the object's own frame in the sensor's."""
    cosine, sine = np.cos(box[6]), np.sin(box[6])
    x, y, z = offset
    moved: Array = box[:3] + np.array((x * cosine - y * sine, x * sine + y * cosine, z))
    return moved
