"""Bytes, counted and written in one way."""

MEBIBYTE = 2**20


def format_size(count: int, decimals: int = 2) -> str:
    """Mebibytes with so many decimals; what is below a hundredth of one, in bytes."""
    return f"{count / MEBIBYTE:.{decimals}f} MiB" if count >= MEBIBYTE // 100 else f"{count} bytes"
