"""The exporters that a test is parametrized over."""

import pytest

DYNAMO_LATER = ("torchscript", pytest.param("dynamo", marks=pytest.mark.slow))
"""Both, and dynamo in make test-all alone: a whole export by it takes seconds. On every commit torchscript tests the
same."""
