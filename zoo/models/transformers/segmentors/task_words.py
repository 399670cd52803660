"""What a model that is given its task in words takes for one."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zoo.errors import InputError
from zoo.models.transformers.architecture import EXTRA
from zoo.optional_library import optional_library

WORDS = "the task is {task}"  # as OneFormerProcessor writes it


def task_tokens(folder: str | Path, settings: Any, task: str) -> Tensor | None:
    """The tokens of WORDS for "semantic" or "instance", int64 [1, L], zeros behind the last; None for a model that is
    given no task.

    By the tokenizer that `processor.save_pretrained(folder)` wrote. Raises InputError where there is none.
    """
    length = getattr(settings, "task_seq_len", None)
    if length is None:
        return None
    words = WORDS.format(task=task)
    tokenizers = optional_library("transformers", EXTRA, f"the tokenizer in {folder}").AutoTokenizer
    try:
        tokenizer = tokenizers.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        tokens = tokenizer([words], padding="max_length", max_length=length, truncation=True)
        is_read = tokenizer.decode(tokens["input_ids"][0], skip_special_tokens=True).strip() == words
    except Exception as error:  # whatever the library raises for a folder without one
        raise _unread(folder, settings, words) from error
    if not is_read:  # the library may make an empty tokenizer, which knows no word
        raise _unread(folder, settings, words)
    ids: Tensor = torch.tensor(tokens["input_ids"]) * torch.tensor(tokens["attention_mask"])
    return ids


def _unread(folder: str | Path, settings: Any, words: str) -> InputError:
    return InputError(
        f"{folder}: a model of type {settings.model_type} is given its task in words, and no tokenizer there reads "
        f'"{words}"; processor.save_pretrained(folder) writes one'
    )
