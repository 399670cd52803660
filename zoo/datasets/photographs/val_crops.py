"""The shipped crops of the held-out photographs, made by `python -m zoo.datasets.photographs.val_crops` ([train])."""

import cv2
import numpy as np

from zoo.datasets.digits.photographs import VAL_PHOTOGRAPHS, load_photograph
from zoo.datasets.files.image_writing import write_image
from zoo.datasets.photographs.super_resolution_folder import PHOTOGRAPHS_ROOT

SIZE = (255, 299)  # (height, width): small copies of odd sizes at x2 and x3, and one that does not divide at x4
CROPS = 2  # of each photograph
COMPRESSION = 9  # of a PNG


def write_crops() -> None:
    """Crops of fixed places: the middles of the upper left and the lower right of what fits."""
    folder = PHOTOGRAPHS_ROOT / "val"
    folder.mkdir(parents=True, exist_ok=True)
    for photograph in VAL_PHOTOGRAPHS:
        image = load_photograph(photograph)
        for number in range(CROPS):
            top, left = ((have - want) * (1 + 2 * number) // 4 for have, want in zip(image.shape, SIZE, strict=False))
            crop = np.ascontiguousarray(image[top : top + SIZE[0], left : left + SIZE[1]])
            name = f"{photograph.name.removesuffix('.jpg')}-{number}.png"
            write_image(folder / name, crop, [cv2.IMWRITE_PNG_COMPRESSION, COMPRESSION])


if __name__ == "__main__":
    write_crops()
