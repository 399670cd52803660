"""Which files under configs/ are configs."""

from pathlib import Path

from zoo import list_models


def test_modules_beside_configs_and_bases_are_no_configs(tmp_path: Path) -> None:
    files = {
        "a.py": "model = dict(type='Net')",
        "b.py": "_base_ = ['_base_/c.py']\nclass Net: ...",
        "typo.py": "modle = dict(type='Net')",
        "broken.py": "model = dict(",
        "my_net.py": "class Net: ...",
        "my_package/__init__.py": "def head(): ...",
        "_base_/c.py": "model = dict(type='Net')",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    names = [Path(path).name for path in list_models(tmp_path)]
    assert names == ["a.py", "b.py", "broken.py", "typo.py"]
