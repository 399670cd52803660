"""A bound that an environment variable may change: it holds in the processes that a tool starts as well."""

import os

from zoo.errors import InputError


def environment_bound(variable: str, usual: int, highest: int, *, unit: str, reason: str = "") -> int:
    """The integer in the environment `variable`, 1 to `highest`; `usual` where it is not set.

    `unit`: what is counted, and `reason`: where `highest` comes from, for the message. Raises InputError.
    """
    text = os.environ.get(variable)
    if text is None:
        return usual
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:20]) <= highest):
        raise InputError(
            f"environment variable {variable}={text}: expected a number of {unit} from 1 to {highest}{reason}; "
            f"correct it, or unset it for {usual}"
        )
    return int(text)
