"""The body of an HTTP request, bounded in bytes and in time."""

import asyncio

from fastapi import Request

from zoo.errors import InputError
from zoo.input_kinds import MAX_BYTES

MAX_BODY = MAX_BYTES + 2**20  # a file, and what describes it


class LateBodyError(InputError):
    """The body did not arrive in time."""


async def read_body(request: Request, seconds: float) -> bytes:
    """The body. `seconds`: that it may take to arrive.

    Raises InputError for one that is too large, before more of it is read, and LateBodyError.
    """
    if "Content-Encoding" in request.headers:
        raise InputError("Content-Encoding: expected a body that is not compressed")
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > MAX_BODY:
        raise InputError(f"the request: {length} bytes, expected at most {MAX_BODY}; send a smaller file")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BODY:
                    raise InputError(f"the request: more than {MAX_BODY} bytes; send a smaller file")
                parts.append(part)
    except TimeoutError as error:
        raise LateBodyError(
            f"the request: {size} bytes of its body after {seconds:g} s, expected all of it; send it again, or a "
            "smaller file"
        ) from error
    return b"".join(parts)
