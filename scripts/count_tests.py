#!/usr/bin/env python3
"""Prints 'PASSED FAILED SKIPPED' for files that `ctest --output-junit` wrote.

A test that asked to be skipped, or that is disabled, counts as skipped. One that could not be run
(no program, say) is in the file as not run as well, and counts as failed.
"""

import sys
from xml.etree import ElementTree


def outcome(case: ElementTree.Element) -> str:
    status = case.get("status")
    if status == "run":
        return "passed"
    if status == "disabled":
        return "skipped"
    skipped = case.find("skipped")
    if status == "notrun" and skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped"
    return "failed"


def main(files: list[str]) -> None:
    outcomes = [outcome(case) for file in files for case in ElementTree.parse(file).iter("testcase")]
    print(*(outcomes.count(kind) for kind in ("passed", "failed", "skipped")))


if __name__ == "__main__":
    main(sys.argv[1:])
