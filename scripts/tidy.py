#!/usr/bin/env python3
"""Runs clang-tidy over the project's sources, and remembers those that came out clean.

What is remembered is a hash of all that decides the outcome: the source, every header of the
project that it reaches, its compile command, .clang-tidy and clang-tidy's version. So a second
run, or one in another checkout that shares build/tidy, looks at changed files only.

Usage: tidy.py BUILD_FOLDER...      a file in several is looked at as the first compiles it
"""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_layers import includes

ROOT = Path(__file__).resolve().parent.parent
CLEAN = ROOT / "build" / "tidy"


def reached(source: Path) -> list[Path]:
    """The source, and all of the project that it includes, directly or not."""
    found = {source}
    ahead = [source]
    while ahead:
        for _, _, target in includes(ahead.pop().read_text(encoding="utf-8")):
            header = ROOT / target
            if header not in found and header.is_file():
                found.add(header)
                ahead.append(header)
    return sorted(found)


def key_of(source: Path, command: str, common: bytes) -> str:
    # The root is no part of it: the same tree elsewhere is the same.
    key = hashlib.sha256(common + command.replace(str(ROOT), "").encode())
    for file in reached(source):
        key.update(f"\0{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return key.hexdigest()


def commands(folders: list[str]) -> dict[Path, tuple[str, str]]:
    """From a source of ours, not one that the build writes, to (build folder, compile command)."""
    found: dict[Path, tuple[str, str]] = {}
    for folder in folders:
        for entry in json.loads((Path(folder) / "compile_commands.json").read_text()):
            source = Path(entry["file"])
            written = source.is_relative_to(ROOT) and not source.is_relative_to(ROOT / "build")
            if source.suffix == ".cc" and written:
                found.setdefault(source, (folder, entry["command"]))
    return found


def main(folders: list[str]) -> int:
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes()
    CLEAN.mkdir(parents=True, exist_ok=True)
    known = [
        (source, folder, CLEAN / key_of(source, command, common))
        for source, (folder, command) in commands(folders).items()
    ]
    todo = [item for item in known if not item[2].exists()]
    if not known:
        print("tidy: no sources: configure first, with CMAKE_UNITY_BUILD=OFF", file=sys.stderr)
        return 1

    def check(item: tuple[Path, str, Path]) -> bool:
        source, folder, mark = item
        # The commands are gcc's, and so is the judgement of its warnings.
        options = ["--quiet", "--extra-arg=-Wno-error", "--extra-arg=-Wno-unknown-warning-option"]
        result = subprocess.run(
            ["clang-tidy", *options, "-p", folder, source],
            capture_output=True,
            text=True,
        )
        if result.returncode == 0:
            mark.touch()
            return True
        print(result.stdout or result.stderr, end="", flush=True)
        return False

    # Large files first, so that no core waits for one at the end.
    todo.sort(key=lambda item: -item[0].stat().st_size)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = list(pool.map(check, todo)).count(False)
    print(f"tidy: {len(known)} files, {len(known) - len(todo)} unchanged, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
