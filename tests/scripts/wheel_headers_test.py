"""What scripts/wheel_headers.py keeps of a wheel."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "wheel_headers.py"


def run(tmp_path: Path, names: list[str]) -> tuple[int, list[str]]:
    """The script's status, and the files that it leaves, each with its name in the wheel."""
    wheel, destination = tmp_path / "a.whl", tmp_path / "headers"
    with ZipFile(wheel, "w") as files:
        for name in names:
            files.writestr(name, name)
    destination.mkdir()
    (destination / "old.h").write_text("of another version")
    done = subprocess.run(
        [sys.executable, SCRIPT, wheel, destination], capture_output=True, text=True
    )
    left = [f for f in destination.rglob("*") if f.is_file()] if destination.exists() else []
    for file in left:
        assert file.read_text() in names
    return done.returncode, sorted(f.relative_to(destination).as_posix() for f in left)


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (
            [
                "flashinfer/__init__.py",
                "flashinfer/data/include/flashinfer/page.cuh",
                "flashinfer/data/include/flashinfer/attention/prefill.cuh",
                "flashinfer/data/include/flashinfer/attention/hopper/sm90.cuh",
                "flashinfer/data/cutlass/include/cutlass.h",
                "flashinfer_python-1.dist-info/licenses/LICENSE",
                "flashinfer_python-1.dist-info/licenses/3rdparty/LICENSE",
            ],
            [
                "LICENSE",
                "include/flashinfer/attention/prefill.cuh",
                "include/flashinfer/page.cuh",
            ],
        ),
        (
            [
                "cudnn/graph.py",
                "include/cudnn_backend_base.h",
                "include/cudnn_frontend.h",
                "include/cudnn_frontend/node/matmul.h",
                "include/cudnn_frontend/thirdparty/nlohmann/json.hpp",
                "nvidia_cudnn_frontend-1.dist-info/licenses/LICENSE.txt",
            ],
            [
                "LICENSE",
                "include/cudnn_backend_base.h",
                "include/cudnn_frontend.h",
                "include/cudnn_frontend/node/matmul.h",
            ],
        ),
    ],
)
def test_keeps_the_headers_and_the_licence(tmp_path: Path, names: list[str], kept: list[str]):
    assert run(tmp_path, names) == (0, kept)


def test_a_wheel_without_headers_is_an_error(tmp_path: Path):
    status, _ = run(tmp_path, ["other/module.py", "other-1.dist-info/licenses/LICENSE"])
    assert status == 1
