"""The command `zooport`: its overview, its typos, and what all verbs share."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.examples import slow_but
from zoo.errors import GateError, ZooportError
from zoo.notices import notice
from zooport.entry import main
from zooport.exit_codes import EXIT_CODES, INTERRUPTED
from zooport.parser import Parser
from zooport.running import run_tool, with_data
from zooport.terminal import write_line
from zooport.verbs import COMMANDS, VERBS, run_verb

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "torchvision", "mmengine", "rich", "onnx", "onnxruntime", "cv2", "numpy.testing")
LIGHT = f"""
import sys
from zooport.entry import main
code = main(sys.argv[1:])
print("imported:", *sorted({set(HEAVY)!r} & set(sys.modules)), file=sys.stderr)
raise SystemExit(code)
"""


def light(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; what it has imported ends its standard error."""
    return subprocess.run(
        [sys.executable, "-c", LIGHT, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_every_module_of_a_verb_is_a_verb_and_a_tool() -> None:
    modules = {path.stem for path in (ROOT / "zooport" / "commands").glob("*.py")} - {"__init__"}
    assert {verb.module for verb in VERBS.values()} == modules
    for name, verb in VERBS.items():
        if name == "completion":
            continue  # of the installed command
        tool = (ROOT / "tools" / f"{verb.module}.py").read_text(encoding="utf-8")
        assert f'run("{name}")' in tool


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_the_overview_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    done = light(*arguments)
    assert (done.returncode, done.stderr) == (0, "imported:\n")
    for name, verb in VERBS.items():
        assert re.search(rf"^  {name} +{re.escape(verb.summary)}$", done.stdout, re.MULTILINE)
    for code, meaning in EXIT_CODES.items():
        assert re.search(rf"^  {code} +{re.escape(meaning)}$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["deplyo"], 'unknown command deplyo; nearest: "deploy"'),
        (["what_if"], 'unknown command what_if; nearest: "what-if"'),
        (["--halp"], 'unknown flag --halp; nearest: "--help"'),
        (["deploy", "--backand", "x"], 'unknown argument --backand; nearest: "--backend"'),
        (["evaluate", "--limt=3"], 'unknown argument --limt=3; nearest: "--limit"'),
        (["deploy"], "the following arguments are required: CONFIG; see zooport deploy --help"),
        (["deploy", "x", "-q", "-v"], "argument -v/--verbose: not allowed with argument -q/--quiet"),
    ],
)
def test_a_typo_is_one_line_and_imports_nothing_heavy(arguments: list[str], message: str) -> None:
    done = light(*arguments)
    error, imported, rest = done.stderr.split("\n")
    assert (done.returncode, done.stdout, rest) == (2, "", "")
    assert error.startswith(f"error: {message}")
    assert not {"torch", "mmengine", "onnxruntime"} & set(imported.split())


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_an_example_and_the_exit_codes(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_verb([verb, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: zooport {verb} " in out
    assert f"  zooport {verb}" in out.partition("examples:")[2]
    assert out.partition("exit codes:")[2].count("\n  ") == len(EXIT_CODES)
    assert "--quiet" in out
    assert __import__(f"{COMMANDS}.{VERBS[verb].module}", fromlist=["run"]).run.__doc__


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_verb(["--version"]) == 0
    assert capsys.readouterr().out.startswith("zooport")


def test_the_table_of_exit_codes_is_that_of_the_errors_and_of_the_page() -> None:
    page = (ROOT / "docs" / "deployments.md").read_text(encoding="utf-8")
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning} |" in page
    classes = [ZooportError]
    for parent in classes:
        classes += parent.__subclasses__()
    assert {error.exit_code for error in classes if error.__module__ == "zoo.errors"} < set(EXIT_CODES)


def shared_flags() -> Parser:
    parser = Parser(prog="zooport try", epilog="examples:")
    parser.add_shared()
    return parser


def tool(capsys: pytest.CaptureFixture[str], *arguments: str, error: Exception | None = None) -> tuple[int, str, str]:
    """A verb that prints a line, and gives data or raises."""

    def work(_options: object) -> dict[str, int]:
        write_line("a line")
        if error is not None:
            raise error
        return {"figure": 3}

    code = run_tool(shared_flags(), work, arguments)
    return code, *capsys.readouterr()


def test_data_on_standard_output_leaves_the_rest_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = tool(capsys, "--json", "-")
    assert (code, json.loads(out), err) == (0, {"exit_code": 0, "figure": 3}, "a line\n")
    code, out, err = tool(capsys, "--json", "-", error=GateError("no"))
    assert (code, json.loads(out), err) == (3, {"exit_code": 3, "error": "no"}, "a line\nerror: no\n")


def test_quiet_prints_errors_and_data_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert tool(capsys, "-q") == (0, "", "")
    assert tool(capsys, "-q", error=GateError("no")) == (3, "", "error: no\n")
    code, out, err = tool(capsys, "--quiet", "--json", "-")
    assert (code, json.loads(out)["figure"], err) == (0, 3, "")
    assert tool(capsys, "-q", "--json", str(tmp_path / "a.json"))[1:] == ("", "")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["figure"] == 3


def test_notices_are_shown_once_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    def body(_options: argparse.Namespace) -> dict[str, int]:
        for _ in range(2):
            notice("averaged\nweights")
        return {"figure": 3}

    def output(*flags: str) -> tuple[int, str, str]:
        return run_tool(shared_flags(), body, [*flags]), *capsys.readouterr()

    assert output() == (0, "", "warning: averaged\\nweights\n")
    assert output("-q") == (0, "", "")
    code, out, err = output("--json", "-")
    assert (code, json.loads(out)["warnings"], err) == (0, ["averaged\nweights"], "warning: averaged\\nweights\n")


def complete(line: str) -> list[str]:
    """What the Tab key offers at the end of a line, as argcomplete's script asks for it."""
    code = "import os, sys; os.dup2(1, 8); from zooport.entry import main; main()"
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert "torch" not in done.stderr
    return [word.strip() for word in done.stdout.split("\n") if word]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("zooport de", ["deploy"]),
        ("zooport deploy fcn_", ["fcn_r101_coco-voc", "fcn_r18-slide_digits", "fcn_r18_digits", "fcn_r50_coco-voc"]),
        pytest.param("zooport deploy fcn_r18_digits --back", ["--backend"], marks=pytest.mark.slow),
        pytest.param("zooport deploy fcn_r18_digits --precision f", ["fp32", "fp16"], marks=pytest.mark.slow),
        ("zooport evaluate x --backend pyt", ["pytorch"]),
    ],
)
def test_the_tab_key_completes(line: str, words: list[str]) -> None:
    assert sorted(complete(line)) == sorted(words)


def test_the_script_of_a_shell_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_verb(["completion", "bash"]) == 0
    out = capsys.readouterr().out
    assert "complete" in out
    assert "zooport" in out
    assert run_verb(["completion", "bsh"]) == 2
    assert capsys.readouterr().err == 'error: unknown shell "bsh"; nearest: "bash", "zsh", "fish"\n'


def unread(*arguments: str, closed: bool = False) -> tuple[int, str]:
    """The exit code and the errors of the command, whose output nobody reads, or which has none at all."""
    command = [sys.executable, "-m", "zooport", *arguments]
    if closed:
        shell = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
        done = subprocess.run(shell, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments", slow_but([["--help"], ["list", "--name", "fcn_r18*"], ["completion", "bash"]], ["--help"])
)
def test_output_that_nobody_reads_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    words = "standard output was closed before everything was printed"
    record = tmp_path / "record.json"
    verb = arguments[0] in VERBS
    assert unread(*arguments, *(["--json", str(record)] if verb else [])) == (2, f"error: {words}\n")
    if verb:
        assert json.loads(record.read_text(encoding="utf-8")) == {"exit_code": 2, "error": words}
    assert unread(*arguments, closed=True) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["list", "--name", "fcn_r18*"]])
def test_output_that_has_no_room_is_one_line(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "zooport", *arguments]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("No space left on device\n")


def test_data_go_into_a_pipe_or_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    place = f"/dev/fd/{writer}" if Path("/dev/fd").is_dir() else os.devnull
    assert tool(capsys, "-q", "--json", place) == (0, "", "")
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert place == os.devnull or json.load(pipe)["figure"] == 3


@pytest.mark.parametrize("ignored", [False, True])
def test_a_hang_up_is_heeded_where_nohup_does_not_ignore_it(ignored: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def body(_options: object) -> dict[str, int]:
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(0.01)
        return {}

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        assert run_tool(shared_flags(), body, []) == (0 if ignored else INTERRUPTED)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert capsys.readouterr().err == ("" if ignored else "interrupted\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("ours"), ModuleNotFoundError("no", name="cv2")])
def test_the_data_of_any_error_is_written(error: BaseException, tmp_path: Path) -> None:
    with_data(error, {"written": ["a.json"]})

    def work(_options: object) -> dict[str, int]:
        raise error

    file = tmp_path / "data.json"
    assert run_tool(shared_flags(), work, ["--json", str(file)]) != 0
    assert json.loads(file.read_text())["written"] == ["a.json"]


def test_an_interrupt_before_a_verb_runs_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("zooport.verbs.run_verb", interrupted)
    assert main(["list"]) == INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"
