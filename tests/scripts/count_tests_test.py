"""Each way in which ctest says how a test went is counted as what it is."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="6" failures="2" disabled="1" skipped="2">
  <testcase name="a" status="run"/>
  <testcase name="b" status="run"/>
  <testcase name="c" status="run"/>
  <testcase name="d" status="fail"><failure message=""/></testcase>
  <testcase name="e" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN      ] E.e
/there/e_test.cc:35: Skipped
no second device

[  SKIPPED ] E.e (0 ms)</system-out>
  </testcase>
  <testcase name="f" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="g" status="disabled"><skipped message="Disabled"/></testcase>
</testsuite>
"""


def count(*files):
    script = ROOT / "scripts" / "count_tests.py"
    command = [sys.executable, script, *files]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_counts(tmp_path):
    file = tmp_path / "lite.xml"
    file.write_text(JUNIT)
    assert count(file) == "3 2 2\n"
    assert count(file, file) == "6 4 4\n"
    assert count("--skipped", file) == "e: no second device\ng: no reason given\n"


def test_no_tests(tmp_path):
    file = tmp_path / "lite.xml"
    file.write_text('<testsuite name="(empty)"/>')
    assert count(file) == "0 0 0\n"
