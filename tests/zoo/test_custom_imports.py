"""Code of one's own beside a config: imported before a registry is asked, named by its module, or refused in a line."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch import nn

from zoo.build import build_model
from zoo.cards import config_sha256, fingerprint
from zoo.config import load_config
from zoo.custom_sources import sources
from zoo.datasets import build_dataset
from zoo.errors import InputError
from zoo.metrics import build_metric
from zoo.tasks import registry

ROOT = Path(__file__).resolve().parents[2]
CONFIG = """
model = dict(type="{model}", width=3)
task = dict(type="SemanticSegmentation", classes=[dict(name="x", category_id=1)])
preprocess = dict(size=(64, 96))
"""
NET = """
from torch import nn
from zoo.registry import MODELS

@MODELS.register_module()
class {name}(nn.Module):
    def __init__(self, width, head=None):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 1)
        self.head = None if head is None else MODELS.build(head)
"""
UNREGISTERED = NET.format(name="Net").replace("@MODELS.register_module()\n", "")
JUDGED = """
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.metrics import MeanIoU

class NoImages(EvaluationDataset):
    def _index(self, faults):
        return []
    def _truth(self, index):
        return {}

class HalfIoU(MeanIoU):
    pass
"""


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "_of_a_user" in name:
            del sys.modules[name]


def write(folder: Path, text: str, **modules: str) -> Path:
    for name, code in modules.items():
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    path = folder / "config.py"
    path.write_text(text, encoding="utf-8")
    return path


def imports(*names: str, allow_failed: bool = False) -> str:
    return f"custom_imports = dict(imports={list(names)}, allow_failed_imports={allow_failed})\n"


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_config(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_module_beside_the_config_registers_a_model(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        CONFIG.format(model="RegisteredNet") + imports("registered_of_a_user"),
        registered_of_a_user=NET.format(name="RegisteredNet"),
    )
    model = build_model(path, weights=False)
    assert type(model).__name__ == "RegisteredNet"
    assert model.conv.weight.shape == (3, 3, 1, 1)  # type: ignore[union-attr]


def test_types_with_their_module_need_no_import_and_no_registration(tmp_path: Path) -> None:
    text = CONFIG.format(model="dotted_of_a_user.Net") + (
        'model["head"] = dict(type="torch.nn.Conv2d", in_channels=1, out_channels=2, kernel_size=1)\n'
        'dataset = dict(type="judged_of_a_user.NoImages")\n'
        'evaluator = dict(type="judged_of_a_user.HalfIoU", num_classes=1)\n'
    )
    config = load_config(write(tmp_path, text, dotted_of_a_user=UNREGISTERED, judged_of_a_user=JUDGED))
    model = build_model(config, weights=False)
    assert type(model).__module__ == "dotted_of_a_user"
    assert isinstance(model.head, nn.Conv2d)
    assert config.dataset is not None
    assert config.evaluator is not None
    assert type(build_dataset(config.dataset, config.task)).__name__ == "NoImages"
    assert type(build_metric(config.evaluator)).__name__ == "HalfIoU"


def test_a_task_may_be_named_with_its_module(tmp_path: Path) -> None:
    task = """
from zoo.tasks import register_task
from zoo.tasks.detection import Detection

@register_task
class DetectionOfAUser(Detection):
    name = "detection-of-a-user"
"""
    text = CONFIG.format(model="Net") + 'task["type"] = "task_of_a_user.DetectionOfAUser"\n'
    before = dict(registry._TASKS)
    try:
        assert load_config(write(tmp_path, text, task_of_a_user=task)).task.name == "detection-of-a-user"
    finally:
        registry._TASKS.clear()
        registry._TASKS.update(before)


@pytest.mark.slow
def test_a_new_process_imports_the_same(tmp_path: Path) -> None:
    """As every worker does, which is given the config's path."""
    path = write(tmp_path, CONFIG.format(model="far_of_a_user.Net"), far_of_a_user=NET.format(name="Net"))
    code = f"from zoo.build import build_model; print(type(build_model({str(path)!r}, weights=False)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "<class 'far_of_a_user.Net'>\n"


def test_a_config_knows_the_modules_that_it_imports_and_their_files(tmp_path: Path) -> None:
    text = CONFIG.format(model="known_of_a_user.Net") + imports("json", "package_of_a_user")
    (tmp_path / "package_of_a_user").mkdir()
    inside = [tmp_path / "package_of_a_user" / name for name in ("__init__.py", "part.py")]
    for file in inside:
        file.touch()
    config = load_config(write(tmp_path, text, known_of_a_user=UNREGISTERED))
    assert config.custom_modules() == ("json", "package_of_a_user", "known_of_a_user")
    assert sources(config.custom_modules(), tmp_path) == [tmp_path / "known_of_a_user.py", *inside]


def test_what_cannot_be_imported_is_said_with_all_other_faults(tmp_path: Path) -> None:
    text = CONFIG.format(model="Net").replace("SemanticSegmentation", "TaskOfAMissingModule")
    text += imports("missing_of_a_user", "broken_of_a_user", "needy_of_a_user") + "chekpoint = 3\n"
    message = refused(write(tmp_path, text, broken_of_a_user="x = (", needy_of_a_user="import no_such_library"))
    assert 'unknown key "chekpoint"' in message
    for part in (
        'custom_imports "missing_of_a_user": cannot be imported (ModuleNotFoundError: No module named \'missing_of_a_',
        f"'); put missing_of_a_user.py into {tmp_path}, or install it",
        "custom_imports \"broken_of_a_user\": cannot be imported (SyntaxError: '(' was never closed",
        "correct the module",
        'custom_imports "needy_of_a_user": cannot be imported (ModuleNotFoundError: No module named \'no_such_libra',
    ):
        assert part in message
    assert "unknown task" not in message, "the missing module may have registered it"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("custom_imports = 3", '"custom_imports": expected dict, got int'),
        ("custom_imports = dict(import_=[])", 'unknown key custom_imports."import_"; nearest: "imports"'),
        ("custom_imports = dict(imports=3)", '"custom_imports.imports": expected str or list or tuple, got int'),
        ("custom_imports = dict(imports=[3])", '"custom_imports.imports[0]": expected the name of a module, got 3'),
        ("model['type'] = 'zoo.nowhere.Net'", "No module named 'zoo.nowhere'); correct the module"),
        ("model['type'] = 'nowhere_of_a_user.Net'", '"model.type": cannot be imported (ModuleNotFoundError'),
        ("model['head'] = [dict(type='torch.nn.Conf2d')]", '"model.head[0].type": module torch.nn ('),
        ("model['head'] = [dict(type='torch.nn.Conf2d')]", 'has no "Conf2d"; nearest: "Conv2d"'),
    ],
)
def test_faults(text: str, words: str, tmp_path: Path) -> None:
    assert words in refused(write(tmp_path, CONFIG.format(model="Net") + text + "\n"))


def test_code_that_ends_the_process_is_a_fault(tmp_path: Path) -> None:
    """A script without a guard: its code would be taken for that of zooport, and 0 for a deploy that went well."""
    text = CONFIG.format(model="Net") + imports("script_of_a_user")
    message = refused(write(tmp_path, text, script_of_a_user="raise SystemExit(0)"))
    reason = f"SystemExit: 0, at {tmp_path / 'script_of_a_user.py'}, line 1, in <module>"
    assert f'custom_imports "script_of_a_user": cannot be imported ({reason}); correct the module' in message


def test_a_download_at_import_is_refused_and_one_that_a_library_can_do_without_is_left_out(tmp_path: Path) -> None:
    ask = "import urllib.request\nurllib.request.urlopen('https://news.invalid/version')\n"
    text = CONFIG.format(model="Net") + imports("asking_of_a_user")
    message = refused(write(tmp_path, text, asking_of_a_user=ask))
    assert "module asking_of_a_user tries to download something while it is imported (https://news.invalid/v" in message
    quiet = f"try:\n    {ask.replace(chr(10), chr(10) + '    ')}\nexcept Exception:\n    pass\n"
    text = CONFIG.format(model="Net") + imports("quiet_of_a_user")
    load_config(write(tmp_path, text, quiet_of_a_user=quiet))
    command = [sys.executable, "-m", "zooport", "deploy", str(write(tmp_path, "raise SystemExit(0)"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # mmengine leaves a file open
    assert (done.returncode, "cannot be read: SystemExit: 0" in done.stderr) == (2, True)


def test_a_failed_import_may_be_allowed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    load_config(write(tmp_path, CONFIG.format(model="Net") + imports("missing_of_a_user", allow_failed=True)))
    assert 'custom_imports "missing_of_a_user" is left out: cannot be imported' in caplog.text


@pytest.mark.parametrize("name", ["zoo", "rewriters", "backends", "pipeline"])
def test_a_module_with_a_name_of_zooports_own_is_refused(name: str, tmp_path: Path) -> None:
    message = refused(write(tmp_path, CONFIG.format(model="Net") + imports(name), **{name: "NET = 1"}))
    assert f'custom_imports "{name}": zooport\'s own package of this name, ' in message
    assert message.endswith(f"hides {tmp_path / name}.py; rename {name}.py")


def test_a_module_that_expects_its_neighbour_under_such_a_name_says_so(tmp_path: Path) -> None:
    modules = {"pipeline": "NET = 1", "neighbour_of_a_user": "from pipeline import NET"}
    message = refused(write(tmp_path, CONFIG.format(model="Net") + imports("neighbour_of_a_user"), **modules))
    assert 'custom_imports "neighbour_of_a_user": zooport\'s own package of this name' in message


def test_two_configs_whose_modules_share_a_name_are_not_mixed(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one, two = (
        write(tmp_path / folder, CONFIG.format(model="twin_of_a_user.Net"), twin_of_a_user=UNREGISTERED)
        for folder in ("one", "two")
    )
    load_config(one)
    message = refused(two)
    assert f'"model.type": another module of this name, {one.with_name("twin_of_a_user.py")}, hides' in message
    assert message.endswith("; rename twin_of_a_user.py, or read the configs of the two folders in two processes")


def test_modules_of_two_configs_that_share_a_neighbours_name_are_not_mixed(tmp_path: Path) -> None:
    paths = []
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        modules = {f"{folder}_of_a_user": f"import parts_of_a_user\n{UNREGISTERED}", "parts_of_a_user": "WIDTH = 3"}
        paths.append(write(tmp_path / folder, CONFIG.format(model=f"{folder}_of_a_user.Net"), **modules))
    load_config(paths[0])
    load_config(paths[0])
    hidden, beside = (path.with_name("parts_of_a_user.py") for path in paths)
    assert f"another module of this name, {hidden}, hides {beside}; rename parts_of_a_user.py" in refused(paths[1])


def test_the_hashes_follow_what_the_modules_import_in_turn(tmp_path: Path) -> None:
    modules = {
        "hashed_of_a_user": f"import json\nfrom inner_of_a_user import WIDTH\n{UNREGISTERED}",
        "inner_of_a_user": "WIDTH = 3",
        "judged_of_a_user": JUDGED,
        "unused_of_a_user": "",
    }
    text = CONFIG.format(model="hashed_of_a_user.Net") + 'dataset = dict(type="judged_of_a_user.NoImages")\n'
    path = write(tmp_path, text, **modules)
    config = load_config(path)
    of_the_card, of_a_deployment = fingerprint(config), config_sha256(config)
    assert list(config.source_hashes()) == ["hashed_of_a_user.py", "inner_of_a_user.py", "judged_of_a_user.py"]
    path.with_name("unused_of_a_user.py").write_text("WIDTH = 4")
    path.with_name("json.py").write_text("")  # Python's own hides it
    assert fingerprint(config) == of_the_card
    path.with_name("judged_of_a_user.py").write_text(f"{JUDGED}\n")
    assert fingerprint(config) != of_the_card
    assert config_sha256(config) == of_a_deployment
    path.with_name("inner_of_a_user.py").write_text("WIDTH = 4")
    assert config_sha256(config) != of_a_deployment


def test_the_hashes_follow_the_folder_that_describes_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors", "README.md"):
        (folder / name).write_text("{}")
    text = CONFIG.format(model="some_of_a_user.Net").replace("width=3", "folder='my-model'")
    config = load_config(write(tmp_path, text, some_of_a_user=UNREGISTERED))
    of_the_card, of_a_deployment = fingerprint(config), config_sha256(config)
    assert list(config.source_hashes()) == ["some_of_a_user.py", "my-model/config.json", "my-model/tokenizer.json"]
    (folder / "README.md").write_text("changed")
    assert (fingerprint(config), config_sha256(config)) == (of_the_card, of_a_deployment)
    (folder / "config.json").write_text('{"layer_norm_eps": 1e-6}')
    assert fingerprint(config) != of_the_card
    assert config_sha256(config) != of_a_deployment


def test_a_config_without_code_of_its_own_has_the_hash_that_it_had(tmp_path: Path) -> None:
    config = load_config(ROOT / "configs/segmentation/fcn_r18_digits.py")
    assert config.source_hashes() == {}
    sections = json.dumps({"model": config.model, "forward": config.export.forward}, sort_keys=True)
    assert config_sha256(config) == hashlib.sha256(sections.encode()).hexdigest()


def test_a_dotted_type_of_another_kind_is_refused(tmp_path: Path) -> None:
    text = CONFIG.format(model="collections.OrderedDict")
    config = load_config(write(tmp_path, text + 'dataset = dict(type="collections.OrderedDict")\n'))
    with pytest.raises(InputError, match="model collections.OrderedDict: got a OrderedDict, expected a torch.nn.Modul"):
        build_model(config, weights=False)
    with pytest.raises(InputError, match='dataset type "collections.OrderedDict": got .* expected a subclass of zoo'):
        build_dataset({"type": "collections.OrderedDict"}, config.task)
    with pytest.raises(InputError, match='unknown dataset type "no.such"; nearest'):
        build_dataset({"type": "no.such"}, config.task)


def test_a_file_that_python_cannot_read_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "own_templates"
    package.mkdir()
    for name, content in (("__init__.py", b""), ("old.py", b"print 1"), ("nul.py", b"a = 1\0")):
        (package / name).write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    assert [path.name for path in sources(["own_templates"], tmp_path)] == ["__init__.py", "nul.py", "old.py"]
