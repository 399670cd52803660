"""Tasks register themselves: those of zoo.tasks, a caller's own, and those of installed packages."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.errors import InputError
from zoo.tasks import build_task, find_task, known_tasks, register_task, registry
from zoo.tasks.detection import Detection
from zoo.tasks.proof import proof_of

TASKS = Path(registry.__file__).parent


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    known_tasks()
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))


def test_every_folder_is_a_task_with_all_that_the_rest_asks_for() -> None:
    folders = {path.parent.name for path in TASKS.glob("*/__init__.py")}
    assert {task.name.replace("-", "_") for task in known_tasks().values()} == folders
    for name, kind in known_tasks().items():
        task = build_task({"type": name, "classes": [{"name": "a", "category_id": 1}] if kind.has_classes else []})
        assert proof_of(task).task is task
        assert kind.suffixes
        assert proof_of(task).model_output
        assert "final" in proof_of(task).contracts


def test_a_task_of_other_code_is_built_by_class_and_by_name() -> None:
    @register_task
    class Counting(Detection):
        name = "counting"

    assert find_task("counting") is find_task("Counting") is Counting
    assert isinstance(build_task({"type": "Counting", "classes": [{"name": "a", "category_id": 1}]}), Counting)


@pytest.mark.parametrize(("kind", "name"), [("Detection", "own"), ("Own", "detection")])
def test_two_tasks_of_one_name_are_an_error(kind: str, name: str) -> None:
    with pytest.raises(InputError, match=r"zoo\.tasks\.detection\.task\.Detection has the same name; rename"):
        register_task(type(kind, (Detection,), {"name": name}))


def test_options_without_kinds_are_an_error() -> None:
    message = r"""task "own" \(.*Own\): OPTIONS is \('exact',\), expected a mapping, each name with its kind"""
    with pytest.raises(InputError, match=message):
        register_task(type("Own", (Detection,), {"name": "own", "OPTIONS": ("exact",)}))


INSTALLED = """
from zoo.tasks import register_task
from zoo.tasks.detection import Detection

@register_task
class Installed(Detection):
    name = "installed"
"""


def test_an_installed_task_is_found_by_its_entry_point(install: Callable[..., None]) -> None:
    install(registry.ENTRY_POINTS, "installed", "installed_task", INSTALLED)
    task = find_task("installed")
    assert task is not None
    assert task.__name__ == "Installed"
    assert "installed" in known_tasks()


def test_an_entry_point_that_cannot_be_loaded_is_named(
    install: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    install(registry.ENTRY_POINTS, "lost", "no_such_module")
    assert find_task("unheard-of") is None
    words = "entry point lost of outside (zooport.tasks): no_such_module cannot be imported: ModuleNotFoundError"
    assert caplog.text.count(words) == 1
    with pytest.raises(InputError, match=re.escape(words)):
        find_task("lost")
    with pytest.raises(InputError, match='unknown task "los"; nearest: ".*; ' + re.escape(words)):
        build_task({"type": "los"})


ROOT = TASKS.parents[1]
OTHER_WORDS = ('formal("tensors"', 'show_counts(console, "tensors")')
"""Strings that are a task's name by chance: an operator's argument, and what a bar counts."""
ELSEWHERE = [
    path for top in ("backends", "pipeline", "rewriters", "tools", "zooport") for path in (ROOT / top).rglob("*.py")
]


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in TASKS.glob("*/__init__.py")))
def test_nothing_behind_a_task_knows_it_by_name(folder: str) -> None:
    """Neither its folder nor its name, but for words of a help."""
    names = (f"zoo.tasks.{folder}", f'"{folder.replace("_", "-")}"')
    known = [str(path) for path in ELSEWHERE if any(name in _without_other_words(path) for name in names)]
    assert len(ELSEWHERE) > 100
    assert known == []


def _without_other_words(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    for words in OTHER_WORDS:
        text = text.replace(words, "")
    return text


def test_threads_may_look_up_tasks_that_nobody_has_imported() -> None:
    names = sorted(known_tasks())
    code = f"""
import sys, threading
from zoo.tasks.registry import find_task
sys.setswitchinterval(1e-6)
names = {names!r}
begin = threading.Barrier(len(names))
def look_up(name):
    begin.wait()
    for _ in range(200):
        assert find_task(name).name == name
threads = [threading.Thread(target=look_up, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
