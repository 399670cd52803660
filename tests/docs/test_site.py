"""The documentation site is built strictly, and fetches nothing."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocs") is None, reason='the site needs pip install "zooport[docs]"')
def test_the_site_is_complete_by_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    subprocess.run(command, cwd=ROOT, check=True)
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="https?://[^"]*"', text) == []
    worker = re.search(r'src="([^"]*iframe_worker.js)"', (tmp_path / "site/reference/index.html").read_text())
    assert worker is not None
    assert (tmp_path / "site/reference" / worker[1]).is_file()
