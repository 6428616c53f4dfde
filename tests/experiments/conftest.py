"""Fixtures of the tests that run the program."""

import pytest
from program import SMALL


@pytest.fixture
def small(tmp_path):
    """A configuration that runs in a moment, in a folder of its own."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return file
