"""Where the command `zooport` begins: nothing of the other packages is imported before they are known to be its own."""

import errno
import os
import sys
from collections.abc import Sequence

from zooport.own_packages import HiddenPackageError, check_packages
from zooport.standard_output import UNREAD, drop_output, open_closed_streams

ASKED = "_ARGCOMPLETE"  # argcomplete's: a shell asks for completions


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a verb with its arguments, those of this process by default; the exit code."""
    open_closed_streams()
    try:
        check_packages()
    except HiddenPackageError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if ASKED in os.environ:
        from zooport.completion import complete

        complete()
    from zooport.exit_codes import INTERRUPTED, USER_ERROR
    from zooport.verbs import run_verb

    code = 0
    try:
        code = run_verb(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:  # before the verb's own code runs
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        drop_output()
        reason = UNREAD if error.errno == errno.EPIPE else f"standard output: {error.strerror}"
        print(f"error: {reason}", file=sys.stderr)
        return code or USER_ERROR
    return code
