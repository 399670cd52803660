"""The address of a model behind a server."""

import re
from typing import NamedTuple

from zoo.errors import InputError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
ADDRESS = re.compile(r"(https?)://([^/@\s]+)((?:/[\w.-]+)*)/([\w.-]+)/?")


class Address(NamedTuple):
    """``server``: its host and port, and a path in front of the protocol's own, if it has one."""

    is_secure: bool
    server: str
    model: str


def check_name(name: str) -> None:
    """Whether a model of this name can be in an address. Raises InputError."""
    if not NAME.fullmatch(name):
        raise InputError(f'name "{name}": expected letters, digits and . _ -; give another one')


def is_address(text: str) -> bool:
    """Whether a deployment is named by an address, and not by its folder."""
    return text.startswith(("http://", "https://"))


def parse_address(text: str) -> Address:
    """From http://host:port/model. Raises InputError."""
    match = ADDRESS.fullmatch(text)
    if match is None:
        shown = "an address with a password" if "@" in text else text
        raise InputError(f"{shown}: expected the address of a model, for example http://localhost:8000/cars")
    scheme, host, path, model = match.groups()
    return Address(scheme == "https", host + path, model)
