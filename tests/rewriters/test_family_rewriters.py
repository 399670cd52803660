"""The rewriters of families whose library is not installed."""

import re
from pathlib import Path

import pytest
from torch import nn

from rewriters.family_rewriters import import_all_rewriters, import_rewriters
from zoo.errors import ExportError
from zoo.families import Family, family_of, register
from zoo.families import registry as family_registry


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a test registers is forgotten behind it, and modules beside it can be imported."""
    family_of(nn.Identity())  # loads the zoo's own
    monkeypatch.setattr(family_registry, "_by_class", dict(family_registry._by_class))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("registered")
def test_those_that_lack_a_library_concern_no_other_family(tmp_path: Path) -> None:
    (tmp_path / "rewriters_of_mine.py").write_text("import a_library_that_nobody_has.models\n")

    class Net(nn.Module):
        pass

    @register(Net)
    class Mine(Family):
        rewriters = "rewriters_of_mine"

    import_all_rewriters()
    import_rewriters(nn.Identity())
    words = (
        'family Mine: its rewriters "rewriters_of_mine" cannot be imported: ModuleNotFoundError: No module named \'a_'
    )
    with pytest.raises(ExportError, match=words):
        import_rewriters(Net())


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("fault", "options"),
    [("AssertionError", ""), ("ImportError", ""), ("ModuleNotFoundError", ", name='library.part'")],
)
def test_those_whose_library_does_not_import_concern_no_other_family(
    fault: str, options: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As mmdet refuses another mmcv, and as a later version has other names."""
    (tmp_path / f"rewriters_of_{fault}.py").write_text(f"raise {fault}('made for\\n0.1'{options})\n")

    class Net(nn.Module):
        pass

    @register(Net)
    class Mine(Family):
        rewriters = f"rewriters_of_{fault}"

        def libraries(self) -> dict[str, str]:
            return {"my-library": "0.2"}

    import_all_rewriters()
    import_all_rewriters()
    words = rf"rewriters_of_{fault}\" cannot be imported: {fault}: made for 0.1.* \(installed: my-library 0.2\)"
    (record,) = caplog.records
    assert re.search(words, record.getMessage())
    with pytest.raises(ExportError, match=words):
        import_rewriters(Net())


@pytest.mark.usefixtures("registered")
def test_a_package_that_is_not_there_is_an_error() -> None:
    class Net(nn.Module):
        pass

    @register(Net)
    class Mine(Family):
        rewriters = "no_such_rewriters.of_mine"

    with pytest.raises(ExportError, match='family Mine: its rewriters "no_such_rewriters.of_mine" cannot be imported'):
        import_all_rewriters()
