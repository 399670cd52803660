"""Write a config that a person can read and change: for a model of your own, or for data of your own."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import InputError
from zoo.own_model import check_out, known_forms
from zooport.parser import Parser, flag_of, literal_or_text
from zooport.terminal import write_line

EXAMPLES = """examples:
  zooport init torchvision:fasterrcnn_resnet50_fpn --weights animals.pth --classes cat dog
  zooport init my_file.py:Net --weights net.pth --size 256 512
  zooport init my-segformer
  zooport init --data annotations.json --images images --base faster-rcnn_r18-fpn_digits --out shapes.py
  zooport init --data train.json --val val.json --images train --val-images val --base yolov5n_digits
  zooport init --data VOC2007 --base yolov5n_digits
  zooport init --data label_maps --images images --classes background road --base fcn_r18_digits
  zooport init --data flowers --base resnet18_digits

SOURCE is a model that was trained elsewhere: docs/own_model.md has its forms. Nothing is downloaded.
With --data the config trains a shipped model: docs/own_data.md. Without --val every fifth image is for validation."""
SHOWN = 10  # classes, of those that the config has
OF_MODEL: Mapping[str, Any] = {"weights": None, "task": None, "size": None, "arg": []}
OF_DATA: Mapping[str, Any] = {"data": None, "images": None, "base": None, "val": None, "val_images": None}


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport init", description=__doc__, epilog=EXAMPLES)
    model = flags.add_argument_group("a model of your own")
    model.add_argument(
        "source",
        nargs="?",
        metavar="SOURCE",
        help=f"the model: {', '.join(form.example for form in known_forms())}",
    )
    model.add_argument("--weights", type=Path, metavar="F", help="its state dict, by torch.save or as safetensors")
    model.add_argument("--task", metavar="T", help="what the model does, where SOURCE does not say it")
    model.add_argument("--size", nargs=2, type=int, metavar=("H", "W"), help="height and width of the input in pixels")
    model.add_argument(
        "--arg",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="arguments that the training gave to the model",
    )
    data = flags.add_argument_group("data of your own")
    data.add_argument(
        "--data",
        type=Path,
        metavar="F",
        help="what to learn from: COCO annotations, a VOC folder, a folder of label maps, or one of class folders",
    )
    data.add_argument(
        "--images", type=Path, metavar="DIR", help="the folder of the images of annotations or label maps"
    )
    data.add_argument("--base", metavar="CONFIG", help="the config to start from: a shipped one's name, or a file")
    data.add_argument("--val", type=Path, metavar="F", help="what to validate on, in the same layout")
    data.add_argument("--val-images", type=Path, metavar="DIR", help="the folder of its images, if it is another")
    flags.add_argument(
        "--classes",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="in the order of the model's outputs, or of the values of label maps",
    )
    flags.add_argument("--out", type=Path, metavar="F", help="default: named after the weights or the data's folder")
    flags.add_argument("--force", action="store_true", help="replace a config that is there already")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Writes the config. Raises ZooportError. Its imports are here, for --help."""
    if options.source is None:
        _check_unused(options, OF_MODEL, "give SOURCE, the model to write a config for")
        return _for_data(options)
    _check_unused(options, OF_DATA, f"it is for data of your own, and SOURCE {options.source} is a model")
    return _for_model(options)


def _check_unused(options: argparse.Namespace, flags: Mapping[str, Any], reason: str) -> None:
    for name, default in flags.items():
        if getattr(options, name) != default:
            raise InputError(f"{flag_of(name)}: {reason}; see zooport init --help")


def _for_model(options: argparse.Namespace) -> Mapping[str, Any]:
    from zoo.own_model import ModelRequest, write_config

    written = write_config(
        ModelRequest(
            source=options.source,
            weights=options.weights,
            classes=tuple(options.classes),
            task=options.task,
            size=None if options.size is None else tuple(options.size),
            arguments=_arguments(options.arg),
            out=options.out,
            force=options.force,
        )
    )
    for note in written.notes:
        write_line(note)
    classes = f", {_listed(written.classes)}" if written.classes else ""
    write_line(f"config: {written.path} ({written.task}{classes})")
    write_line(f"next: zooport deploy {written.path} --image IMAGE IMAGE")
    return {
        "config": str(written.path),
        "task": written.task,
        "classes": list(written.classes),
        "notes": list(written.notes),
    }


def _listed(classes: Sequence[str]) -> str:
    more = f" and {len(classes) - SHOWN} more" if len(classes) > SHOWN else ""
    return ", ".join(classes[:SHOWN]) + more


def _arguments(texts: Sequence[str]) -> dict[str, Any]:
    """Each of NAME=VALUE. Raises InputError for what is not, and for a name that is given twice."""
    arguments: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--arg {text}: expected NAME=VALUE, such as num_classes=3")
        if name in arguments:
            raise InputError(f"--arg {text}: {name} is given twice; leave one out")
        arguments[name] = literal_or_text(value)
    return arguments


def _for_data(options: argparse.Namespace) -> Mapping[str, Any]:
    if missing := [flag_of(name) for name in ("data", "base") if getattr(options, name) is None]:
        what = "SOURCE, a model of your own, or --data" if options.data is None else ", ".join(missing)
        raise InputError(f"nothing to start from: give {what}; see zooport init --help")
    for flag, path in (("--data", options.data), ("--val", options.val)):
        if path is not None and not path.exists():
            raise InputError(f"{flag} {path}: no such file or folder; give COCO annotations, or a folder of your data")
    for flag, folder in (("--images", options.images), ("--val-images", options.val_images)):
        if folder is not None and not folder.is_dir():
            raise InputError(f"{flag} {folder}: no such folder; give the folder of the images")
    out = options.out or Path(f"{_data_name(options.data)}.py")
    check_out(out, (), force=options.force)
    from zoo.config import load_config

    base = load_config(options.base)
    check_out(out, (base.path,), force=options.force)
    from pipeline.training.own_config import DataRequest, write_config

    written = write_config(
        DataRequest(
            base,
            options.data,
            out,
            images=options.images,
            val=options.val,
            val_images=options.val_images,
            classes=tuple(options.classes),
            force=options.force,
        )
    )
    for note in written.notes:
        write_line(note)
    learned, judged = written.images
    write_line(f"config: {written.path} ({_listed(written.classes)}), {learned} images to learn, {judged} to validate")
    write_line(f"next: zooport train {written.path}")
    return {
        "config": str(written.path),
        "annotations": [str(file) for file in written.annotations],
        "classes": list(written.classes),
        "images": list(written.images),
        "notes": list(written.notes),
    }


def _data_name(data: Path) -> str:
    """A folder's own name, or that of the folder that a file is in."""
    return data.resolve().name if data.is_dir() else data.resolve().parent.name
