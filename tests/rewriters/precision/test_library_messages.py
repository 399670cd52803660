"""What a library logs and prints meanwhile is kept or dropped; what other threads say goes where it went."""

import logging
import sys
import threading

import pytest

from rewriters.precision.library_messages import library_messages


def test_the_words_of_other_threads_go_where_they_went(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def say(who: str) -> None:
        logging.getLogger("library").warning(who)
        sys.stdout.write(f"{who}\n")

    with library_messages() as messages:
        say("ours")
        other = threading.Thread(target=say, args=("another",))
        other.start()
        other.join()
    assert messages == ["ours"]
    assert [record.getMessage() for record in caplog.records] == ["another"]
    assert capsys.readouterr().out == "another\n"
