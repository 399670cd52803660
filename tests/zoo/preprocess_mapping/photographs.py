"""Real photographs, and how far what a library makes of one is from what a mapped config makes of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from skimage import data
from torch import Tensor

from zoo.input_kinds import input_kind
from zoo.input_kinds.proof import input_proof
from zoo.preprocess import Preprocess

RESIZE = Image.Image.resize
LARGEST = 1.0  # grey level of 255
MEAN = 0.3


def photographs() -> dict[str, NDArray[np.uint8]]:
    """uint8 [h, w, 3], RGB: wide, tall, square and large; shrunk by some sizes and enlarged by others."""
    coffee = data.coffee()
    return {
        "coffee": coffee,
        "upright": np.ascontiguousarray(coffee[:, ::-1].transpose(1, 0, 2)),
        "cat": data.chelsea(),
        "square": data.astronaut(),
        "retina": data.retina()[150:1261, 200:1211],
    }


def check_same(preprocess: Mapping[str, Any], photograph: NDArray[np.uint8], theirs: Tensor) -> None:
    """`theirs` float32 [3, H, W]: what the library gives its model. Ours: the tensor through the step of the graph."""
    rule = Preprocess.from_dict(preprocess)
    ours = np.empty((3, *rule.geometry(*photograph.shape[:2]).tensor_size), np.float32)
    rule.run(np.ascontiguousarray(photograph[..., ::-1]), ours)
    step = input_proof(input_kind("image")).graph_step(rule)
    images = torch.from_numpy(ours)[None]
    given = (images if step is None else step(images))[0]
    assert tuple(given.shape) == tuple(theirs.shape)
    std = torch.tensor(rule.std or (1.0, 1.0, 1.0))[:, None, None]
    apart = (given - theirs).abs() * std * 255
    assert float(apart.max()) <= LARGEST + 1e-3, f"{float(apart.max()):.2f}"
    assert float(apart.mean()) <= MEAN


def columns_first(image: Image.Image, size: tuple[int, int], *options: Any, **more: Any) -> Image.Image:
    """Image.resize in the order of all versions of Pillow before 13, which takes rows first where they shrink more.

    Its own two orders differ by up to ten grey levels at hard edges, where a cubic filter's overshoot is cut off.
    """
    columns = RESIZE(image, (size[0], image.height), *options, **more)
    return RESIZE(columns, size, *options, **more)
