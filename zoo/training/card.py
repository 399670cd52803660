"""Publishing: a trained model as half-precision safetensors, with a card that says how it was made."""

import hashlib
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

from zoo.training.recipe import Recipe

LICENCE = "Apache-2.0, as the rest of zooport; the training pictures' own licences are in zoo/data/digits/README.md"


def publish(
    model: nn.Module,
    file: Path,
    *,
    config: str,
    recipe: Recipe,
    figures: Mapping[str, Mapping[str, float]],
    history: Mapping[str, Any],
) -> Path:
    """Writes `file` (.safetensors: the state dict, floating point as fp16) and the card beside it; returns the card.

    `config`: the config's path as the reader would type it. `figures`: config -> metric -> points, measured on the
    rounded weights. `history`: `iterations` run, `minutes` taken, `threads`.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    state = {
        name: (tensor.half() if tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in model.state_dict().items()
    }
    save_file(state, file)
    file.chmod(0o644)  # safetensors makes a file for its owner alone
    card = file.with_suffix(".md")
    text = _card(model, file, config=config, recipe=recipe, figures=figures, history=history)
    card.write_text(text, encoding="utf-8")
    return card


def _card(
    model: nn.Module,
    file: Path,
    *,
    config: str,
    recipe: Recipe,
    figures: Mapping[str, Mapping[str, float]],
    history: Mapping[str, Any],
) -> str:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    scores = [f"| `{name}` | {key} | {value:.2f} |" for name, row in figures.items() for key, value in row.items()]
    settings = {
        "optimizer": json.dumps(recipe.optimizer),
        "schedule": f"{recipe.warmup} iterations of warm-up, then a half cosine to 0 at {recipe.iterations}",
        "batch": f"{recipe.batch_size} tensors of {recipe.crop[0]}x{recipe.crop[1]} (height x width)",
        "scale": f"letterbox to {recipe.size[0]}x{recipe.size[1]}, times {recipe.scale[0]} to {recipe.scale[1]}",
        "start": f"the backbone of `{Path(recipe.backbone).name}`" if recipe.backbone else "random weights",
    }
    if recipe.pretrain:
        settings["pre-training"] = f"the backbone, as a classifier of single digits: {json.dumps(recipe.pretrain)}"
    lines = [
        f"# {file.stem}",
        "",
        f"Weights of `{config}`" + "".join(f" and `{name}`" for name in figures if name != config) + ".",
        "",
        f"- file: `{file.name}`, {file.stat().st_size} bytes, fp16 safetensors (the state dict, buffers included)",
        f"- sha256: `{digest}`",
        f"- parameters: {parameters}",
        f"- licence: {LICENCE}",
        "",
        "## Figures",
        "",
        "On the shipped `val` split of the digits (64 images), in points 0..100, measured in eager PyTorch with these",
        "weights (rounded to fp16, computed in fp32) and each config's own preprocessing.",
        "",
        "| config | metric | points |",
        "|---|---|---|",
        *scores,
        "",
        "## How it was made",
        "",
        f"    python tools/train.py {config} --publish",
        "",
        f"- data: {recipe.num_scenes} `train` scenes of the digits ([card](../data/digits/README.md)), never mirrored.",
        "  No photograph and no handwritten sample of `val` is in them.",
        f"- seed {recipe.seed}; {history['iterations']} of {recipe.iterations} iterations",
        f"- {history['minutes']:.0f} minutes on {history['threads']} CPU cores, shared with other work",
        *(f"- {name}: {value}" for name, value in settings.items()),
        f"- torch {torch.__version__.split('+')[0]}, Python {platform.python_version()}; weights vary with both",
        "",
    ]
    return "\n".join(lines)
