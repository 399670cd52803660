"""`FILE.py:NAME`: a class, or a function without a library, in a file of one's own."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from zoo.errors import InputError, nearest
from zoo.own_model.form import ANY_MODULE, Description, Form, register_form
from zoo.own_model.request import ModelRequest

SUFFIX = ".py"
IMAGE = "image"  # the kind of input that the written preprocess is for


@register_form
class PythonFileForm(Form):
    """The config is beside the file, and names the class with its module."""

    example: ClassVar[str] = "FILE.py:NAME"
    flags: ClassVar[frozenset[str]] = frozenset({"weights", "classes", "task", "size", "arguments"})
    is_own_code: ClassVar[bool] = True

    def accepts(self, source: str) -> bool:
        """Whether a name follows a Python file, or should."""
        return source.rpartition(":")[0].endswith(SUFFIX) or source.endswith(SUFFIX)

    def out(self, request: ModelRequest) -> Path:
        """Beside the file, where the class is found, named after the weights; `net_config.py` for those of `net.py`."""
        file, name = _split(request.source)[0], request.weights_file.stem
        return file.parent / f"{name}_config{SUFFIX}" if name == file.stem else file.parent / f"{name}{SUFFIX}"

    def sources(self, request: ModelRequest) -> tuple[Path | None, ...]:
        """The file as well."""
        return *super().sources(request), _split(request.source)[0]

    def describe(self, request: ModelRequest, out: Path) -> Description:
        """The source is read, not run: what is wrong with it is known before torch is loaded."""
        file, name = _split(request.source)
        weights = request.weights_file
        definition = _definition(file, name)
        if out.parent.resolve() != file.parent.resolve():
            raise InputError(
                f"--out {out}: the config must be beside {file.name}, where its modules are searched; "
                f"give --out {file.parent / out.name}"
            )
        if missing := [key for key in _required(definition) if key not in request.arguments]:
            raise InputError(
                f"{request.source} needs {', '.join(missing)}; give {' '.join(f'--arg {key}=VALUE' for key in missing)}"
            )
        task = _task(request)
        preprocess = {"size": request.tensor_size, "resize": "stretch", "interpolation": "bilinear"}
        notes = {
            "preprocess": "The model takes float32 [N, 3, height, width], RGB, 0..1. Change what your training does"
            " differently."
        }
        what = f"{name} of {file.name} with the weights of {weights.name}."
        model = {"type": f"{file.stem}.{name}", **request.arguments}
        content = {"model": model, "task": task, "preprocess": preprocess}
        return Description(what, content, weights, notes)


def _split(source: str) -> tuple[Path, str]:
    """File and name. Raises InputError where one is missing, or Python cannot import the file by its name."""
    file, _, name = source.rpartition(":")
    if not file.endswith(SUFFIX):
        path = Path(source)
        known = ", ".join(name for name, made in _names(_parsed(path)).items() if isinstance(made, ast.ClassDef))
        raise InputError(f"source {source}: which class? Give {source}:NAME, NAME one of {known or 'those in it'}")
    path = Path(file)
    if not path.stem.isidentifier():
        raise InputError(f"{path}: Python cannot import a module of this name; rename it with letters, digits and _")
    if not path.is_file():
        raise InputError(f"{path}: no such file; give FILE.py:NAME")
    return path, name


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); give FILE.py:NAME") from error


def _names(module: ast.Module) -> dict[str, ast.stmt]:
    """What the file defines at its top."""
    definitions: dict[str, ast.stmt] = {}
    for statement in _statements(module):
        for name in _defined(statement):
            definitions[name] = statement
    return definitions


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Those of a module, also under if, try and with, but not in its classes and functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            yield from _statements(child)


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in statement.names)


def _definition(file: Path, name: str) -> ast.stmt:
    names = _names(_parsed(file))
    if name not in names:
        raise InputError(f'{file} has no "{name}"; {nearest(name, names)}')
    return names[name]


def _required(definition: ast.stmt) -> Iterator[str]:
    """The parameters without a default of a class's constructor, if it has one of its own, or of a function."""
    function: ast.stmt | None = definition
    if isinstance(definition, ast.ClassDef):
        functions = [part for part in definition.body if isinstance(part, ast.FunctionDef)]
        function = next((part for part in functions if part.name == "__init__"), None)
    if not isinstance(function, ast.FunctionDef):
        return
    of_class = isinstance(definition, ast.ClassDef)
    positional = [*function.args.posonlyargs, *function.args.args][of_class:]
    yield from (one.arg for one in positional[: len(positional) - len(function.args.defaults)])
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    yield from (one.arg for one, default in pairs if default is None)


def _task(request: ModelRequest) -> dict[str, Any]:
    from zoo.own_model.classes import class_entries
    from zoo.tasks import find_task

    name = request.task or ANY_MODULE
    task = find_task(name)
    if task is None:
        raise InputError(f"--task {name}: unknown task; {nearest(name, _task_names())}")
    if task.input_kind != IMAGE:
        raise InputError(f"--task {name}: its models take no images; write the config by hand, see docs/extending.md")
    if not task.has_classes:
        if request.classes:
            raise InputError(f"--classes with --task {name}: it has none; leave them out")
        return {"type": task.__name__}
    if not request.classes:
        raise InputError(f"--task {name}: no classes; give --classes NAME ..., index = the model's own id")
    return {
        "type": task.__name__,
        "classes": class_entries(request.classes, len(request.classes), "the model"),
    }


def _task_names() -> list[str]:
    from zoo.tasks import known_tasks

    return [task.__name__ for task in known_tasks().values()]
