#!/usr/bin/env python3
"""Runs a sweep on a Dask cluster: the same folder and table as `syncopate sweep` makes.

    scripts/sweep_dask.py configs/sweeps/batch_size.yaml --out runs/batch --workers 4
    scripts/sweep_dask.py configs/sweeps/batch_size.yaml --out /shared/batch \\
        --scheduler tcp://head:8786 --program /shared/syncopate

The sweep is cut into shards (`--shard I/N`), each a task that runs the program. Workers need the program,
the sweep's files and the folder under the same paths, as a shared file system gives them. A worker that
dies loses the points that it was running, and nothing that it had finished: Dask gives its shards to
others, and those run what is left of them. What the workers leave is joined here.

--set and --runtime are passed on. Needs distributed (`scripts/setup sweep`).
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

SHARDS_A_WORKER = 8  # so that one that is done early has more to do
POINTS_FAILED = 3  # the program's exit status


class ShardError(Exception):
    """The program could not run a shard; the text is its own."""


def run_shard(command, index, count):
    """Runs on a worker. Points that fail are the table's business."""
    done = subprocess.run([*command, "--jobs", "1", "--shard", f"{index}/{count}"],
                          capture_output=True, text=True)
    if done.returncode not in (0, POINTS_FAILED):
        raise ShardError(done.stderr.strip() or f"status {done.returncode}")
    return index


def run_shards(client, command, count, report=lambda done, count: None):
    """All of them, whatever becomes of single workers."""
    futures = [client.submit(run_shard, command, index, count, pure=False, key=f"shard-{index}-{count}")
               for index in range(1, count + 1)]
    for done, (_, _) in enumerate(as_completed(futures, with_results=True), 1):
        report(done, count)


def sweep(client, command, count, report=lambda done, count: None):
    """Runs the sweep and joins it; the program's exit status."""
    run_shards(client, command, count, report)
    return subprocess.run([*command, "--resume"]).returncode


def find_program():
    """The one on the PATH, or a build that is there."""
    root = Path(__file__).resolve().parent.parent
    builds = [root / "build" / preset / "syncopate" for preset in ("lite", "cpu", "gpu")]
    return shutil.which("syncopate") or next((str(b) for b in builds if b.exists()), None)


def show_progress():
    """A function that prints how far the shards are, on a terminal over the line before."""
    begin = time.monotonic()

    def report(done, count):
        spent = time.monotonic() - begin
        text = (f"{done} of {count} shards, {done / spent:.3g} shards/s, "
                f"{spent * (count - done) / done:.0f} s left")
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="\n" if done == count else "", file=sys.stderr, flush=True)

    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage="sweep_dask.py SWEEP --out FOLDER [option...]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", metavar="SWEEP", help="a sweep's file")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="the sweep's folder")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a cluster that is there")
    where.add_argument("--workers", type=int, default=2, metavar="N",
                       help="processes of a cluster of this machine's own (default: 2)")
    parser.add_argument("--shards", type=int, metavar="N",
                        help=f"tasks (default: {SHARDS_A_WORKER} for each worker's thread)")
    parser.add_argument("--program", default=find_program(), help="syncopate, on the workers too")
    parser.add_argument("--runtime")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    options = parser.parse_args()
    if options.program is None:
        parser.error("no program: build it, or say --program")
    command = [options.program, "sweep", str(Path(options.sweep).resolve()), "--out",
               str(Path(options.out).resolve())]
    if options.runtime:
        command += ["--runtime", options.runtime]
    for assignment in options.set:
        command += ["--set", assignment]
    # What is wrong with the file or the folder is told here, once.
    checked = subprocess.run([*command, "--resume", "--dry-run"], stdout=subprocess.DEVNULL)
    if checked.returncode != 0:
        return checked.returncode
    cluster = options.scheduler or LocalCluster(n_workers=options.workers, threads_per_worker=1,
                                                dashboard_address=None)
    with Client(cluster) as client:
        threads = sum(client.nthreads().values())
        try:
            return sweep(client, command, options.shards or SHARDS_A_WORKER * max(threads, 1),
                         show_progress())
        except ShardError as error:
            print(f"sweep_dask.py: {error}", file=sys.stderr)
            return POINTS_FAILED
        finally:
            if not options.scheduler:
                cluster.close()


if __name__ == "__main__":
    sys.exit(main())
