#!/usr/bin/env python3
"""Fails on an #include that points up the layers, or that brings a library where it has no place.

    experiments                      the composition root: may include every layer
    backend/batching, .../ulysses    the programs: the seam, and models by their interface
    backend/models                   the seam, and one another
    .../llama/cuda, .../ulysses/cuda also CUDA's memory and checked calls
    sim, backend/cpu, backend/cuda   the runtimes: the seam
    analysis                         the seam's finished timelines
    backend/runtime                  the seam: nothing but itself

CUDA's headers stay in backend/cuda and in folders named cuda/, libtorch's in backend/models/llama
and backend/ulysses/torch, FlashInfer's in backend/models/llama/cuda. So the programs never name a
runtime, and the simulator builds anywhere.

Usage: check_layers.py [ROOT]
"""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

SOURCES = {".h", ".cc", ".cu", ".cuh", ".cpp", ".hpp"}
NOT_OURS = {"build", "runs"}  # and hidden folders

# From a folder to what its files may include, besides the folder itself. A trailing "/*.h" means
# the headers directly in a folder, and not those of its subfolders.
LAYERS = {
    "experiments": ["analysis", "backend", "sim"],
    "backend/batching": ["backend/runtime", "backend/models/*.h"],
    "backend/ulysses/cuda": ["backend/runtime", "backend/ulysses", "backend/cuda"],
    "backend/ulysses": ["backend/runtime", "backend/models/*.h"],
    "backend/models/llama/cuda": ["backend/runtime", "backend/models", "backend/cuda"],
    "backend/models": ["backend/runtime"],
    "backend/cpu": ["backend/runtime"],
    "backend/cuda": ["backend/runtime"],
    "sim": ["backend/runtime"],
    "analysis": ["backend/runtime"],
    "backend/runtime": [],
    "tests": ["analysis", "backend", "experiments", "sim"],
}

# Headers that the build writes, with their layer.
GENERATED = {"syncopate_revision.h": "experiments"}


class Library(NamedTuple):
    name: str
    header: re.Pattern[str]
    home: re.Pattern[str]


LIBRARIES = [
    Library(
        "CUDA",
        re.compile(
            r"(cuda|cub|thrust|nvtx3|ATen/cuda|c10/cuda|torch/cuda)/"
            r"|torch/csrc/cuda/"
            r"|(cu(da|pti|blas|solver|sparse|rand|fft|dnn)|nccl|nvml|nvrtc|nvToolsExt|cooperative_groups)"
            r"\w*(\.h|/|$)"
            r"|(driver_types|vector_types|device_launch_parameters|mma)\.h$"
        ),
        re.compile(
            r"(backend/cuda|backend/(models|ulysses)(/[^/]+)?/cuda"
            r"|tests/((llama|ulysses)_)?cuda)/"
        ),
    ),
    Library(
        "FlashInfer",
        re.compile(r"flashinfer/"),
        re.compile(r"backend/models/llama/cuda/"),
    ),
    Library(
        "libtorch",
        re.compile(r"(torch|ATen|c10|caffe2)/"),
        re.compile(
            r"((backend/models|tests)/llama|tests/llama_cuda|backend/ulysses/torch"
            r"|tests/ulysses_torch)/"
        ),
    ),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


class Violation(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def layer_of(path: str) -> str | None:
    return next((layer for layer in LAYERS if path.startswith(layer + "/")), None)


def allows(pattern: str, target: str) -> bool:
    if pattern.endswith("/*.h"):
        return str(Path(target).parent) == pattern.removesuffix("/*.h")
    return target.startswith(pattern + "/")


def includes(text: str) -> Iterator[tuple[int, bool, str]]:
    """Yields (line, quoted, target). Comments go first, their line breaks kept for the numbers."""
    text = BLOCK_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1] == '"', match[2]


def check_file(root: Path, path: str) -> Iterator[Violation]:
    layer = layer_of(path)
    if layer is None:
        yield Violation(path, 1, "belongs to no layer")
        return
    for line, quoted, target in includes((root / path).read_text(encoding="utf-8")):
        if (root / target).is_file():
            if not any(allows(pattern, target) for pattern in [layer, *LAYERS[layer]]):
                yield Violation(path, line, f"{layer} must not include {target}")
            continue
        if quoted and GENERATED.get(target) != layer:
            yield Violation(path, line, f'"{target}" is no file, seen from the project\'s root')
        for library in LIBRARIES:
            if library.header.match(target) and not library.home.match(path):
                yield Violation(path, line, f"{target}: no place for a header of {library.name}")


def sources(root: Path) -> list[str]:
    found: list[Path] = []
    for top in root.iterdir():
        if not top.name.startswith(".") and top.name not in NOT_OURS:
            found += top.rglob("*") if top.is_dir() else [top]
    return sorted(f.relative_to(root).as_posix() for f in found if f.suffix in SOURCES)


def check(root: Path) -> tuple[int, list[Violation]]:
    """Returns how many files were read, and what is wrong in them."""
    files = sources(root)
    return len(files), [violation for path in files for violation in check_file(root, path)]


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    files, violations = check(root)
    for violation in violations:
        print(violation)
    print(f"layers: {files} files, {len(violations)} violations")
    return 1 if violations or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
