"""Which configs of OpenMMLab's codebases zooport takes: every config that an installed codebase ships with.

Each is read, translated into a zooport config, and built without memory for its tensors: on PyTorch's meta device,
with no network. A config is *translated* if zooport's own parts build it, *adapted* if the library itself does, and
else *refused*, with the reason. A codebase that is not installed is left out: its section of the page stays.

    python benchmarks/openmmlab_coverage.py --page docs/measured/openmmlab.md

Nothing is exported here: benchmarks/openmmlab_exports.py and benchmarks/openmmlab_segmentors.py do that for one small
model of each architecture. Exit code 3 if a config fails in another way than by a refusal.
"""

import argparse
import json
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import torch
from measured import write_page
from torch.overrides import TorchFunctionMode

from zoo.build import build_section
from zoo.codebases import Codebase, CodebaseConfig, known_codebases, type_name
from zoo.config import read_config
from zoo.errors import ZooportError
from zoo.installed_versions import installed_versions

SHIPPED = Path(".mim/configs")
BASES = "_base_"
SECTION = "\n## "
TRANSLATED, ADAPTED, REFUSED, FAILED = "translated", "adapted", "refused", "failed"
VERDICTS = (TRANSLATED, ADAPTED, REFUSED, FAILED)
OWN = ("EncoderDecoder",)
PACKAGES = ("torch", "mmengine", "mmcv", "mmcv-lite", "onedl-mmcv", "mmdet", "onedl-mmdetection")
OF_CODEBASE = {"mmseg": ("mmsegmentation", "onedl-mmsegmentation")}
INTRO = (
    "Every config that an installed codebase ships with: read, translated into a zooport config, and built on the meta "
    "device of PyTorch. *Translated*: zooport's own parts build it, and the library is not needed. *Adapted*: the "
    "library itself builds it. *Refused*: with the reason below. Nothing is exported here."
)


class Row(NamedTuple):
    """`config`: relative to the codebase's folder. `model`: the types of segmentor or detector, backbone and head."""

    config: str
    model: str
    verdict: str
    reason: str = ""


class NumbersOnTheCpu(TorchFunctionMode):
    """Numbers that a constructor reads, such as drop-path rates, are made on the CPU also where tensors are meta."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """`linspace` alone."""
        options = dict(kwargs or {})
        if function is torch.linspace:
            options["device"] = "cpu"
        return function(*args, **options)


def main() -> int:
    """Print and write the tables; 3 where a config failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codebases", nargs="+", default=[], metavar="SCOPE", help="default: all that are installed")
    parser.add_argument("--only", default="", metavar="TEXT", help="configs whose path has this text")
    parser.add_argument("--json", type=Path, metavar="F", help="write the rows as JSON")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sections, rows = {}, []
    for scope, codebase in known_codebases().items():
        if (not args.codebases or scope in args.codebases) and (folder := shipped(scope)) is not None:
            own = [row_of(codebase, path, folder) for path in configs(folder) if args.only in str(path)]
            sections[scope] = table(scope, own)
            rows += own
    print("\n\n".join(sections.values()))
    if args.json:
        args.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n", encoding="utf-8")
    if args.page:
        tables = "\n\n".join((sections_of(args.page) | sections).values())
        write_page(args.page, "OpenMMLab's configs", INTRO, "benchmarks/openmmlab_coverage.py", tables)
    return 3 if any(row.verdict == FAILED for row in rows) else 0


def sections_of(page: Path) -> dict[str, str]:
    """Of a page that an earlier run wrote, by the codebase; none where there is no page."""
    parts = page.read_text(encoding="utf-8").split(SECTION)[1:] if page.is_file() else []
    return {part.splitlines()[0]: f"{SECTION}{part}".strip() for part in parts}


def shipped(scope: str) -> Path | None:
    """The folder of the configs that an installed codebase has, without importing it; None where it has none."""
    spec = find_spec(scope)
    folder = Path(str(spec.origin)).parent / SHIPPED if spec is not None and spec.origin else None
    return folder if folder is not None and folder.is_dir() else None


def configs(folder: Path) -> Iterator[Path]:
    """All but the bases."""
    yield from (path for path in sorted(folder.rglob("*.py")) if BASES not in path.parts)


def row_of(codebase: Codebase, path: Path, folder: Path) -> Row:
    """What becomes of one config."""
    name, model = str(path.relative_to(folder)), ""
    try:
        config = CodebaseConfig(path, read_config(path).to_dict())
        model = described(config)
        section = codebase.translate(config).content["model"]
        quietly(lambda: build_section(section))
    except ZooportError as error:
        return Row(name, model, REFUSED, reason(error, path, folder))
    except Exception as error:  # noqa: BLE001 - a library's own, which the table shows
        return Row(name, model, FAILED, reason(error, path, folder))
    return Row(name, model, TRANSLATED if section["type"] in OWN else ADAPTED)


def quietly(build: Callable[[], object]) -> None:
    """Run a builder on the meta device."""
    with torch.device("meta"), NumbersOnTheCpu():
        build()


def described(config: CodebaseConfig) -> str:
    """The types of its parts."""
    model = config.model
    heads = [model.get(key) for key in ("decode_head", "roi_head", "bbox_head", "mask_head", "panoptic_head")]
    parts = [model, model.get("backbone"), *(head[-1] if isinstance(head, list | tuple) else head for head in heads)]
    return " ".join(type_name(part.get("type")) for part in parts if isinstance(part, dict))


def reason(error: Exception, path: Path, folder: Path) -> str:
    """One line, without the path of the config, and with other paths relative to the codebase's folder."""
    text = str(error).replace(str(path), "").replace(f"{folder}/", "")
    return " ".join(text.split()).removeprefix(": ") or type(error).__name__


def table(scope: str, rows: Sequence[Row]) -> str:
    """A section: how many of each verdict, by the types of backbone and head, then the reasons."""
    versions = installed_versions((*OF_CODEBASE.get(scope, (scope,)), *PACKAGES))
    counts = Counter(row.verdict for row in rows)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    taken = 100 * (counts[TRANSLATED] + counts[ADAPTED]) / max(1, len(rows))
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    lines = [
        f"## {scope}",
        "",
        f"{packages}: {len(rows)} configs, {total}; {taken:.1f} % are taken.",
        "",
        "| model | configs | " + " | ".join(VERDICTS) + " |",
        "|---|---:|" + "---:|" * len(VERDICTS),
    ]
    for model, number in Counter(row.model for row in rows).most_common():
        own = Counter(row.verdict for row in rows if row.model == model)
        lines.append(f"| {model or 'not read'} | {number} | {' | '.join(str(own[v] or '') for v in VERDICTS)} |")
    reasons = Counter((row.verdict, row.reason) for row in rows if row.verdict in (REFUSED, FAILED))
    lines += [""] * bool(reasons)
    lines += [f"- {verdict}, {number}: {words}" for (verdict, words), number in reasons.most_common()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
