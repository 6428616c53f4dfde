"""A sweep on a Dask cluster of two workers, of which one is killed half-way: the same table."""

import os
import signal
import subprocess
import sys
import threading
import time

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
    try:
        return sum(not name.startswith(".") for name in os.listdir(folder / "points"))
    except FileNotFoundError:
        return 0


def kill_half_way(worker, folder, killed):
    """Once half of the points are there."""
    deadline = time.monotonic() + 60
    while finished(folder) < POINTS // 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    killed.append(finished(folder))
    os.kill(worker, signal.SIGKILL)


def test_a_worker_that_is_killed_half_way_costs_nothing_that_was_finished(tmp_path, small):
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP)
    command = [PROGRAM, "sweep", str(file), "--out"]
    subprocess.run([*command, "whole"], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    folder = tmp_path / "a"
    killed = []
    # As when the script runs by itself: a worker does not find its functions by name.
    distributed.protocol.pickle.cloudpickle.register_pickle_by_value(sweep_dask)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                                  local_directory=tmp_path / "dask") as cluster, \
            distributed.Client(cluster) as client:
        workers = client.run(os.getpid)
        killer = threading.Thread(target=kill_half_way,
                                  args=(next(iter(workers.values())), folder, killed))
        killer.start()
        status = sweep_dask.sweep(client, [*command, str(folder)], SHARDS)
        killer.join(timeout=60)
    assert status == 0
    assert killed and POINTS // 2 <= killed[0] < POINTS, f"{killed} of {POINTS}: not half-way"
    for name in ("results.csv", "results.json"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert finished(folder) == POINTS
    # What the killed worker had started may still be at a point that others have finished.
    deadline = time.monotonic() + 30
    while list((folder / "points").glob(".*")) and time.monotonic() < deadline:
        time.sleep(0.05)
        subprocess.run([*command, str(folder), "--resume"], capture_output=True, timeout=120)
    assert not list((folder / "points").glob(".*"))


def test_what_is_wrong_with_the_sweep_is_told_once_and_nothing_is_written(tmp_path, small):
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP.replace("limits.rows", "limits.row"))
    done = subprocess.run([sys.executable, ROOT / "scripts" / "sweep_dask.py", file, "--out", tmp_path / "a",
                           "--program", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1 and "did you mean 'rows'?" in done.stderr
    assert not (tmp_path / "a").exists()
