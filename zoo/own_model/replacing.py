"""Where a new config may be written: never over what it is made of, and over another config if it is to be replaced."""

from collections.abc import Iterable
from pathlib import Path

from zoo.errors import InputError

SUFFIX = ".py"
OF_A_CONFIG = ("model", "_base_")  # a config assigns one of these, or both


def check_out(out: Path, sources: Iterable[Path | None], *, force: bool) -> None:
    """`sources`: the files that the config is made of. `force`: whether a config at `out` is replaced.

    Raises InputError for a path that is no Python file's, one of the sources, a file that is there already, and with
    `force` a file that is no config.
    """
    if out.suffix != SUFFIX:
        raise InputError(f"--out {out}: expected a name that ends in {SUFFIX}")
    if out.resolve() in {source.resolve() for source in sources if source is not None}:
        raise InputError(f"--out {out}: the config is made of this file and would replace it; give another --out")
    if not out.exists():
        return
    if out.is_dir():
        raise InputError(f"--out {out}: this is a folder; give the name of a file")
    if not force:
        raise InputError(f"{out}: this file already exists; give another --out, or --force to replace it")
    from zoo.config.bases import assigned

    if not assigned(out).keys() & {*OF_A_CONFIG}:
        raise InputError(
            f"{out}: --force replaces a config, and this file is none: it assigns neither {' nor '.join(OF_A_CONFIG)}; "
            "give another --out"
        )
