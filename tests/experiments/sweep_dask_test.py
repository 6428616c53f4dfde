"""A sweep on a Dask cluster of two workers, of which one is killed half-way: the same table."""

import os
import subprocess
import sys

import pytest
from program import PROGRAM, ROOT, needs_program

distributed = pytest.importorskip("distributed", reason="no distributed: scripts/setup sweep")

sys.path.insert(0, str(ROOT / "scripts"))
import sweep_dask  # noqa: E402

pytestmark = needs_program

SWEEP = """
base: small.yaml
axes:
  - grid:
      limits.rows: [1, 2, 3]
      host.extra_us: [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
      strategy.kind: [ordered, async]
"""
POINTS = 60
SHARDS = 20


def finished(folder):
    return sum(not name.startswith(".") for name in os.listdir(folder / "points"))


# Stands before the program: the first shard that begins when half of the points are there kills its
# worker, which is its parent.
KILLER = """#!/bin/sh
points=$(ls "{folder}/points" 2>/dev/null | wc -l)
if [ "$points" -ge {half} ] && mkdir "{mark}" 2>/dev/null; then
  echo "$points" > "{mark}/points"
  kill -9 $PPID
  exit 1
fi
exec "{program}" "$@"
"""


def test_a_worker_that_is_killed_half_way_costs_nothing_that_was_finished(tmp_path, small):
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP)
    subprocess.run([PROGRAM, "sweep", file, "--out", "whole"], cwd=tmp_path, check=True,
                   capture_output=True, timeout=120)
    folder, mark, program = tmp_path / "a", tmp_path / "mark", tmp_path / "program"
    program.write_text(KILLER.format(folder=folder, half=POINTS // 2, mark=mark, program=PROGRAM))
    program.chmod(0o755)
    command = [str(program), "sweep", str(file), "--out", str(folder)]
    # As when the script runs by itself: a worker does not find its functions by name.
    distributed.protocol.pickle.cloudpickle.register_pickle_by_value(sweep_dask)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                  local_directory=tmp_path / "dask") as cluster, \
            distributed.Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        status = sweep_dask.sweep(client, command, SHARDS)
        after = set(client.run(os.getpid).values())
    assert status == 0
    assert POINTS // 2 <= int((mark / "points").read_text()) < POINTS
    assert len(before - after) == 1, "one of the two workers was killed"
    for name in ("results.csv", "results.json"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert finished(folder) == POINTS
    assert not list((folder / "points").glob(".*"))


def test_what_is_wrong_with_the_sweep_is_told_once_and_nothing_is_written(tmp_path, small):
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP.replace("limits.rows", "limits.row"))
    done = subprocess.run([sys.executable, ROOT / "scripts" / "sweep_dask.py", file, "--out", tmp_path / "a",
                           "--program", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1 and "did you mean 'rows'?" in done.stderr
    assert not (tmp_path / "a").exists()
