"""How a graph is brought to fp16 or int8 (torch-free)."""

from dataclasses import dataclass
from typing import ClassVar

from zoo.errors import InputError, nearest
from zoo.options import Options

METHODS = ("minmax", "entropy", "percentile")


@dataclass(frozen=True)
class PrecisionOptions(Options):
    """How a graph is brought to fp16 or int8. Frozen and hashable.

    ``keep_fp32``: names of PyTorch modules that stay in fp32 with all that is in them, * and ? allowed
    ("backbone.conv1", "roi_heads.*"). ``half_io``: fp16 inputs and outputs, too, where they are float, but for
    inputs with a default, such as thresholds; fp16 only.
    ``calibration_images``: how many images are run to find ranges and overflows. ``calibration_method``: how int8
    ranges are taken from them. Raises InputError for a value that is none.
    """

    WHAT: ClassVar = "precision option"

    keep_fp32: tuple[str, ...] = ()
    half_io: bool = False
    calibration_images: int = 32
    calibration_method: str = "minmax"

    def __post_init__(self) -> None:
        if not isinstance(self.keep_fp32, tuple):
            raise InputError(f"precision option keep_fp32 is {self.keep_fp32!r}, expected a list of modules' names")
        for name in self.keep_fp32:
            if not (isinstance(name, str) and name):
                raise InputError(f"precision option keep_fp32: {name!r} is not the name of a module")
        if not isinstance(self.half_io, bool):
            raise InputError(f"precision option half_io is {self.half_io!r}, expected True or False")
        if type(self.calibration_images) is not int or self.calibration_images < 1:
            raise InputError(
                f"precision option calibration_images is {self.calibration_images!r}, expected 1 or more images"
            )
        if self.calibration_method not in METHODS:
            known = nearest(str(self.calibration_method), METHODS)
            raise InputError(f'precision option calibration_method is "{self.calibration_method}"; {known}')
