"""benchmarks/openmmlab_coverage.py: the page of which each environment measures a part."""

from pathlib import Path

import pytest


@pytest.mark.usefixtures("benchmarks")
def test_the_section_of_a_codebase_that_is_not_installed_stays(tmp_path: Path) -> None:
    from measured import write_page
    from openmmlab_coverage import Row, sections_of, table

    page = tmp_path / "page.md"
    assert sections_of(page) == {}
    sections = {"mmseg": table("mmseg", [Row("a.py", "A", "translated")]), "mmdet": table("mmdet", [])}
    write_page(page, "Configs", "An introduction.", "script.py", "\n\n".join(sections.values()))
    assert sections_of(page) == sections
    assert "1 configs, 1 translated; 100.0 % are taken." in sections_of(page)["mmseg"]
