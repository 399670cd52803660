"""A config.json that transformers refuses: its reason, in one line, and no word of a download."""

from typing import Any

import pytest

from zoo.errors import InputError
from zoo.models.transformers import read_architecture

pytestmark = pytest.mark.libraries


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hidden_dropout_prob": "0.1"}, "cannot be built by transformers: .*field 'hidden_dropout_prob': .*expected"),
        (
            {"classifier_dropout_prob": None},
            "cannot be built by transformers: .*field 'classifier_dropout_prob': ",
        ),
        ({"architectures": "SegformerForX"}, 'model.architecture: "architectures" is "SegformerForX", expected a list'),
        ({"architectures": [1]}, r'model.architecture: "architectures" is \[1\], expected a list of names'),
    ],
)
def test_it_is_named(fields: dict[str, Any], message: str) -> None:
    pytest.importorskip("transformers", reason="an extra that this environment does not have")
    with pytest.raises(InputError, match=message) as raised:
        read_architecture({"model_type": "segformer", **fields})
    assert "download" not in str(raised.value)
    assert "\n" not in str(raised.value)
