"""The module that takes the place of mmcv._ext where mmcv comes without it."""

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NoReturn

from zoo.codebases.mmcv_ext import attention, convolutions, pooling, resampling, suppression
from zoo.errors import InputError

NAME = "mmcv._ext"
MISSING = "zooport's stand-in, over torchvision's operators"
"""What a manifest says in the place of the version of the compiled operators."""
OPERATORS: dict[str, Callable[..., Any]] = {
    operator.__name__: operator
    for operator in (
        attention.ms_deform_attn_forward,
        attention.psamask_forward,
        convolutions.deform_conv_forward,
        convolutions.masked_col2im_forward,
        convolutions.masked_im2col_forward,
        convolutions.modulated_deform_conv_forward,
        pooling.roi_align_forward,
        resampling.carafe_forward,
        resampling.carafe_naive_forward,
        suppression.nms,
        suppression.nms_match,
        suppression.softnms,
    )
}
"""By mmcv's names, each with mmcv's arguments."""


class StandIn(ModuleType):
    """Has every name, as mmcv asks for all of them when it is imported; those of no operator here raise when called."""

    def __init__(self) -> None:
        super().__init__(NAME, "zooport's stand-in for mmcv's compiled operators.")
        self.__spec__ = ModuleSpec(NAME, None)  # mmcv and mmengine ask whether the module can be found
        vars(self).update(OPERATORS)

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*_arguments: object, **_named: object) -> NoReturn:
            raise InputError(
                f"{NAME}.{name}: mmcv is installed without its compiled operators, and zooport's stand-in for them has "
                f"no {name}; install mmcv with its operators, or use a model without this one"
            )

        return missing


def provide() -> bool:
    """Put the stand-in where mmcv looks for its operators, if it has none; whether the stand-in is in use.

    mmcv is imported for it. Raises ModuleNotFoundError where mmcv is not installed.
    """
    if NAME not in sys.modules and find_spec(NAME) is None:
        sys.modules[NAME] = StandIn()
        package, _, attribute = NAME.partition(".")
        setattr(sys.modules[package], attribute, sys.modules[NAME])  # as an import does
    return is_stand_in()


def versions() -> dict[str, str]:
    """What a manifest says of the compiled operators, where the stand-in takes their place; else nothing."""
    return {NAME: MISSING} if is_stand_in() else {}


def is_stand_in() -> bool:
    """Whether mmcv uses the stand-in in this process."""
    return isinstance(sys.modules.get(NAME), StandIn)
