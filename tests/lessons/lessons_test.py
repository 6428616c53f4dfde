"""Each lesson says what its commands print: they are run, and must print just that."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SYNCOPATE_PROGRAM")
LESSONS = sorted((ROOT / "docs" / "lessons").glob("[0-9]*.md"))

pytestmark = pytest.mark.skipif(not PROGRAM, reason="SYNCOPATE_PROGRAM names no program")


def commands(text):
    """Of each block that begins with one: the command, and what stands below it."""
    for block in re.findall(r"^```\n(\$ syncopate .*?)^```$", text, re.M | re.S):
        command, _, output = block.partition("\n")
        yield command.removeprefix("$ "), output


def run(command, folder):
    environment = os.environ | {
        "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}", "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return [line.rstrip() for line in done.stdout.splitlines()]


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_what_a_lesson_s_commands_print_is_what_it_says(lesson, tmp_path):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    said = list(commands(lesson.read_text()))
    assert said, "a lesson has something to run"
    for command, output in said:
        assert run(command, tmp_path) == [line.rstrip() for line in output.splitlines()], command


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_s_links_lead_somewhere(lesson):
    for target in re.findall(r"\]\(([^)#]+)\)", lesson.read_text()):
        if "://" not in target:
            assert (lesson.parent / target).exists(), target
