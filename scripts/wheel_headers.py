#!/usr/bin/env python3
"""Takes the headers that we compile out of a wheel, and its licence: of FlashInfer's those that need
no other library (1.5 of 855 MB), of cuDNN's frontend all but the JSON library that it brings.

The result is a folder that CMake takes as SYNCOPATE_FLASHINFER or SYNCOPATE_CUDNN_FRONTEND.
scripts/setup cuda makes .venv/flashinfer and .venv/cudnn_frontend so; a copy of them serves on a
machine that reaches no package index.

Usage: wheel_headers.py WHEEL DESTINATION      the destination is made anew
"""

import re
import shutil
import sys
from pathlib import Path
from zipfile import ZipFile

# Of a name in a wheel, what is kept of it, and as which name.
KEPT = [
    re.compile(r"flashinfer/data/(include/flashinfer/(?:attention/)?[^/]+\.(?:h|cuh))"),
    re.compile(r"(include/cudnn_(?!frontend/thirdparty).*\.h)"),
    re.compile(r"[^/]+\.dist-info/licenses/(LICENSE)(?:\.txt)?"),
]


def place_of(name: str) -> str | None:
    return next((kept[1] for pattern in KEPT if (kept := pattern.fullmatch(name))), None)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    wheel, destination = map(Path, arguments)
    shutil.rmtree(destination, ignore_errors=True)
    headers = 0
    with ZipFile(wheel) as files:
        for name in files.namelist():
            if place := place_of(name):
                path = destination / place
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(files.read(name))
                headers += place != "LICENSE"
    if headers == 0:
        print(f"{wheel}: no headers that are known here", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
