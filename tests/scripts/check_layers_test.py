"""A tree with one violation of each kind: each is found, at its line, and nothing else is."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_layers  # noqa: E402

HEADERS = [
    "analysis/metrics.h",
    "backend/batching/scheduler.h",
    "backend/cpu/runtime.h",
    "backend/cuda/runtime.h",
    "backend/models/hash/hash.h",
    "backend/models/model.h",
    "backend/runtime/host.h",
    "backend/ulysses/schedule.h",
    "experiments/config.h",
    "sim/engine.h",
    "tests/support/device.h",
]


@pytest.fixture
def tree(tmp_path):
    for header in HEADERS:
        write(tmp_path, header, "#pragma once\n")
    return tmp_path


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def found(root):
    return [(v.path, v.line) for v in check_layers.check(root)[1]]


ALLOWED = [
    ("experiments/main.cc", '"sim/engine.h"'),
    ("experiments/main.cc", '"backend/cuda/runtime.h"'),
    ("experiments/main.cc", '"backend/models/hash/hash.h"'),
    ("experiments/main.cc", '"analysis/metrics.h"'),
    ("experiments/main.cc", '"syncopate_revision.h"'),
    ("backend/batching/batcher.cc", '"backend/runtime/host.h"'),
    ("backend/batching/batcher.cc", '"backend/batching/scheduler.h"'),
    ("backend/batching/batcher.cc", '"backend/models/model.h"'),
    ("backend/ulysses/pass.cc", '"backend/models/model.h"'),
    ("backend/models/llama/llama.cc", '"backend/models/model.h"'),
    ("backend/models/llama/cpu/kernels.cc", "<ATen/ATen.h>"),
    ("backend/models/llama/cuda/kernels.cu", "<c10/cuda/CUDAStream.h>"),
    ("backend/models/llama/cuda/kernels.cu", "<flashinfer/page.cuh>"),
    ("backend/models/hash/cuda/kernels.cu", "<cuda_runtime.h>"),
    ("backend/models/cuda/carry.cu", "<cuda_runtime_api.h>"),
    ("backend/cuda/runtime.cc", "<cupti.h>"),
    ("backend/cuda/runtime.cc", "<nccl.h>"),
    ("sim/engine.cc", '"backend/runtime/host.h"'),
    ("sim/engine.cc", "<vector>"),
    ("sim/engine.cc", "<fmt/format.h>"),
    ("analysis/metrics.cc", "<nlohmann/json.hpp>"),
    ("tests/cuda/runtime_test.cc", "<cuda.h>"),
    ("tests/llama/oracle_test.cc", "<torch/torch.h>"),
    ("tests/sim/engine_test.cc", '"tests/support/device.h"'),
]

FORBIDDEN = [
    # Up the layers.
    ("backend/runtime/host.cc", '"sim/engine.h"'),
    ("backend/runtime/host.cc", '"backend/models/model.h"'),
    ("backend/runtime/host.cc", '"analysis/metrics.h"'),
    ("sim/engine.cc", '"backend/batching/scheduler.h"'),
    ("sim/engine.cc", '"experiments/config.h"'),
    ("backend/models/hash/hash.cc", '"backend/batching/scheduler.h"'),
    ("backend/batching/batcher.cc", '"experiments/config.h"'),
    ("analysis/metrics.cc", '"backend/batching/scheduler.h"'),
    ("experiments/main.cc", '"tests/support/device.h"'),
    # Sideways.
    ("sim/engine.cc", '"backend/cpu/runtime.h"'),
    ("backend/cpu/runtime.cc", '"backend/cuda/runtime.h"'),
    ("backend/cuda/runtime.cc", '"backend/models/hash/hash.h"'),
    ("backend/batching/batcher.cc", '"backend/ulysses/schedule.h"'),
    ("analysis/metrics.cc", '"sim/engine.h"'),
    # A program that names a runtime, or a model behind its interface.
    ("backend/batching/batcher.cc", '"sim/engine.h"'),
    ("backend/batching/batcher.cc", '"backend/cpu/runtime.h"'),
    ("backend/ulysses/pass.cc", '"backend/cuda/runtime.h"'),
    ("backend/batching/batcher.cc", '"backend/models/hash/hash.h"'),
    # A library out of its place.
    ("sim/engine.cc", "<cuda_runtime.h>"),
    ("sim/engine.cc", "<torch/torch.h>"),
    ("backend/cpu/runtime.cc", "<cupti_activity.h>"),
    ("backend/ulysses/pass.cc", "<nccl.h>"),
    ("backend/models/hash/hash.cc", "<cuda/std/atomic>"),
    ("backend/models/llama/cpu/kernels.cc", "<ATen/cuda/CUDAContext.h>"),
    ("backend/models/hash/hash.cc", "<ATen/ATen.h>"),
    ("backend/models/hash/cuda/kernels.cu", "<flashinfer/page.cuh>"),
    ("backend/cuda/runtime.cc", "<c10/util/Half.h>"),
    ("experiments/main.cc", "<cuda.h>"),
    ("tests/sim/engine_test.cc", "<cuda_runtime_api.h>"),
    ("tests/cuda/runtime_test.cc", "<torch/torch.h>"),
    # Not seen from the root.
    ("sim/engine.cc", '"engine.h"'),
    ("sim/engine.cc", '"syncopate_revision.h"'),
    # Brackets hide nothing.
    ("backend/runtime/host.cc", "<sim/engine.h>"),
]


@pytest.mark.parametrize(("path", "target"), ALLOWED)
def test_allows(tree, path, target):
    write(tree, path, f"#include {target}\n")
    assert found(tree) == []


@pytest.mark.parametrize(("path", "target"), FORBIDDEN)
def test_forbids(tree, path, target):
    write(tree, path, f"// Text.\n\n  #  include {target}\n#include <vector>\n")
    assert found(tree) == [(path, 3)]


def test_counts_two_faults_of_one_line_as_two(tree):
    write(tree, "sim/engine.cc", "#include <c10/cuda/CUDAStream.h>\n")
    assert found(tree) == [("sim/engine.cc", 1)] * 2


def test_finds_all_at_once(tree):
    expected = []
    for number, (path, target) in enumerate(FORBIDDEN):
        path = path.replace(".cc", f"_{number}.cc")
        write(tree, path, f"#include {target}\n")
        expected.append((path, 1))
    assert sorted(found(tree)) == sorted(expected)


def test_comments_are_no_includes(tree):
    text = '// #include "sim/engine.h"\n/*\n#include "sim/engine.h"\n*/\n#include <cuda.h>\n'
    write(tree, "backend/cpu/runtime.cc", text)
    assert found(tree) == [("backend/cpu/runtime.cc", 5)]


def test_a_source_outside_the_layers(tree):
    write(tree, "util/strings.cc", "#include <string>\n")
    assert found(tree) == [("util/strings.cc", 1)]


def test_leaves_builds_and_hidden_folders_alone(tree):
    write(tree, "build/lite/x.cc", '#include "sim/engine.h"\n')
    write(tree, ".venv/x.h", "#include <cuda.h>\n")
    assert found(tree) == []


def run(root):
    script = ROOT / "scripts" / "check_layers.py"
    return subprocess.run([sys.executable, script, root], capture_output=True, text=True)


def test_exit_status(tree):
    assert run(tree).returncode == 0
    write(tree, "sim/engine.cc", "#include <cuda.h>\n")
    result = run(tree)
    assert result.returncode == 1
    assert "sim/engine.cc:1: cuda.h: no place for a header of CUDA" in result.stdout


def test_an_empty_tree_is_an_error(tmp_path):
    assert run(tmp_path).returncode == 1
