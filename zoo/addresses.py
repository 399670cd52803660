"""URLs and URIs as they may be shown: a password in them is for access alone."""

from urllib.parse import urlsplit, urlunsplit


def without_password(url: str) -> str:
    """Without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return unreadable(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def unreadable(text: str) -> str:
    """A name that names nothing, for a message. Of one that may be a URL with a password, only the scheme."""
    scheme, is_url, rest = text.partition("://")
    return f"{scheme}://..." if is_url and "@" in rest else text
