#!/usr/bin/env python3
"""Prints 'PASSED FAILED SKIPPED' for files that `ctest --output-junit` wrote.

A test that asked to be skipped, or that is disabled, counts as skipped. One that could not be run
(no program, say) is in the file as not run as well, and counts as failed.

With --skipped first, prints the skipped tests instead, one a line: 'NAME: what it said'.
"""

import re
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


def reason(case: ElementTree.Element) -> str:
    """GoogleTest prints it on the line after the place of the skip."""
    said = re.search(r": Skipped\n(.*)", case.findtext("system-out", ""))
    return said[1] if said else "no reason given"


def main(arguments: list[str]) -> None:
    list_skipped = arguments[:1] == ["--skipped"]
    files = arguments[1:] if list_skipped else arguments
    cases = [case for file in files for case in ElementTree.parse(file).iter("testcase")]
    outcomes = [outcome(case) for case in cases]
    if list_skipped:
        for case, kind in zip(cases, outcomes):
            if kind == "skipped":
                print(f"{case.get('name')}: {reason(case)}")
        return
    print(*(outcomes.count(kind) for kind in ("passed", "failed", "skipped")))


if __name__ == "__main__":
    main(sys.argv[1:])
