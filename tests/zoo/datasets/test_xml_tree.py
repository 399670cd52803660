"""XML that cannot be read is a fault of its file."""

from pathlib import Path

import pytest

from zoo.datasets.files.faults import Faults
from zoo.datasets.files.xml_tree import read_xml
from zoo.errors import InputError


@pytest.mark.parametrize("encoding", ["gbk", "shift_jis", "no-such-encoding"])
def test_an_encoding_that_the_parser_lacks(encoding: str, tmp_path: Path) -> None:
    path, faults = tmp_path / "a.xml", Faults("VOC")
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?><annotation/>'.encode())
    assert read_xml(path, faults) is None
    with pytest.raises(InputError, match=r"a\.xml.*: "):
        faults.raise_any()
