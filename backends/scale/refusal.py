"""Errors of the user's on their way from an actor to the driver."""

import json

from zoo.errors import InputError, ZooportError


class Refusal:
    """An error of the user's, which an actor gives to the driver as data: to raise it would end the actor."""

    def __init__(self, error: ZooportError | OSError) -> None:
        self.code = getattr(error, "exit_code", InputError.exit_code)
        self.message = str(error)

    def to_json(self) -> str:
        """For the driver."""
        return json.dumps([self.code, self.message])


def raise_refusal(text: str) -> None:
    """In the driver; nothing where `text` is empty. Raises ZooportError with the exit code."""
    if text:
        code, message = json.loads(text)
        error = ZooportError(message)
        error.exit_code = code
        raise error
