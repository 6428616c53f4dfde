#!/usr/bin/env python3
"""Takes FlashInfer's headers out of its wheel: those that need no other library, and the licence.
They are 1.5 of the wheel's 855 MB.

The result is a folder that CMake takes as SYNCOPATE_FLASHINFER. scripts/setup cuda makes
.venv/flashinfer so; a copy of that serves on a machine that reaches no package index.

Usage: flashinfer_headers.py WHEEL DESTINATION      the destination is made anew
"""

import re
import shutil
import sys
from pathlib import Path
from zipfile import ZipFile

# From a name in the wheel to its place in the destination.
KEPT = re.compile(
    r"flashinfer/data/(?P<header>include/flashinfer/(attention/)?[^/]+\.(h|cuh))"
    r"|[^/]+\.dist-info/licenses/(?P<licence>LICENSE)"
)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    wheel, destination = map(Path, arguments)
    shutil.rmtree(destination, ignore_errors=True)
    with ZipFile(wheel) as files:
        for name in files.namelist():
            if kept := KEPT.fullmatch(name):
                place = destination / (kept["header"] or kept["licence"])
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(files.read(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
