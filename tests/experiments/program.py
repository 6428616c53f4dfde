"""The built program, for the tests that run it."""

import os
import pathlib

import pytest

PROGRAM = os.environ.get("SYNCOPATE_PROGRAM", "")
ROOT = pathlib.Path(__file__).resolve().parents[2]

needs_program = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="no built program")

SMALL = """
program: batching
runtime: {kind: sim, profile: h200}
model: {kind: hash, vocab: 64}
strategy: {kind: async}
requests: {count: 6, prompt_tokens: {min: 2, max: 9}, max_new_tokens: {min: 3, max: 12}, seed: 4}
limits: {rows: 3, tokens: 32, page_tokens: 4, pages: 32}
"""
