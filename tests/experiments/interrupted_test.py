"""Runs that are killed or find the disk full: a folder that has its name is whole, or is not there."""

import json
import random
import shutil
import signal
import subprocess
import time

import pytest
from program import PROGRAM, SMALL, needs_program

pytestmark = needs_program

FILES = {"config.yaml", "profile.yaml", "environment.json", "metrics.json", "steps.csv",
         "requests.csv", "timeline.json"}


def check_whole(folder, context):
    """The folder's files are all there, end where they should, and are of one and the same run."""
    assert {f.name for f in folder.iterdir()} == FILES, context
    environment = json.loads((folder / "environment.json").read_text())
    assert f"seed: {environment['seeds']['runtime']}" in (folder / "config.yaml").read_text(), context
    steps = json.loads((folder / "metrics.json").read_text())["steps"]
    assert len((folder / "steps.csv").read_text().splitlines()) == 1 + steps, context
    json.loads((folder / "timeline.json").read_text())
    return environment["seeds"]["runtime"]


@pytest.mark.parametrize("force", [True, False], ids=["replacing", "beside each other"])
def test_killed_at_any_moment_no_run_is_half_there_and_none_is_lost(tmp_path, small, force):
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    print(f"seed {seed}")

    def start(number):
        target = "a" if force else f"a{number}"
        arguments = ["run", str(small), "--out", target, "--set", f"runtime.seed={number}"]
        return tmp_path / target, subprocess.Popen(
            [PROGRAM, *arguments, *(["--force"] if force else [])], cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    begin = time.monotonic()
    first, program = start(0)
    assert program.wait(120) == 0, program.stderr.read()
    duration = time.monotonic() - begin
    finished = {first: 0}
    for attempt in range(1, 60):
        if time.monotonic() - begin > 8:
            break
        target, program = start(attempt)
        time.sleep(moments.uniform(0, 1.3 * duration))
        program.kill()
        out, errors = program.communicate(timeout=120)
        context = f"seed {seed}, attempt {attempt}, printed {out!r} {errors!r}"
        assert program.returncode in (0, -signal.SIGKILL), context
        if "wrote" in out:
            finished[target] = attempt
        elif target.exists():  # it had its name before it could say so
            finished[target] = check_whole(target, context)
            assert finished[target] in (attempt, finished.get(target, attempt)), context
        for folder, number in finished.items():
            assert check_whole(folder, context) == number, context
        for path in tmp_path.iterdir():
            ours = path in finished or path == small
            assert ours or path.name.startswith(f".{target.name[0]}"), context
    # Whatever was left behind, the next run of the name cleans up and succeeds.
    last, program = start(attempt)
    if not force and last in finished:
        assert program.wait(120) == 2
    else:
        assert program.wait(120) == 0, program.stderr.read()
        check_whole(last, f"seed {seed}, at the end")
    assert not list(tmp_path.glob(f".{last.name}.partial-*")), f"seed {seed}"


def can_mount():
    if not shutil.which("unshare"):
        return False
    probe = "mount -t tmpfs -o size=64k none /mnt"
    return subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", probe],
                          capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="no file system may be mounted here")
@pytest.mark.parametrize("free", [0, 4, 40, 400])
def test_on_a_full_disk_the_old_run_stays_and_nothing_else(tmp_path, small, free):
    """On a file system of 1 MB with `free` kilobytes left, beside a finished run."""
    disk = tmp_path / "disk"
    disk.mkdir()
    large = tmp_path / "large.yaml"
    large.write_text(SMALL.replace("count: 6", "count: 300"))
    script = f"""
        set -e
        mount -t tmpfs -o size=1m none disk
        '{PROGRAM}' run small.yaml --out disk/a >/dev/null
        left=$(df --output=avail -k disk | tail -1)
        [ "$left" -le {free} ] || head -c $(( (left - {free}) * 1024 )) /dev/zero > disk/filler
        for target in a b; do
          '{PROGRAM}' run large.yaml --force --out disk/$target && status=0 || status=$?
          echo "status $status"
        done
        ls -A disk disk/a
        cat disk/a/config.yaml disk/a/timeline.json | md5sum
        rm disk/filler
        '{PROGRAM}' run small.yaml --force --out disk/c >/dev/null
        cat disk/c/config.yaml disk/c/timeline.json | md5sum
        """
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script],
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    *lines, old, new = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("status")] == ["status 3"] * 2, done.stdout
    listed = done.stdout.split("disk:\n")[1]
    assert listed.split("\n\n")[0].split() == ["a", "filler"]
    assert set(listed.split("disk/a:\n")[1].split("\n" + old)[0].split()) == FILES
    assert old == new, "the run of before is as it was"
    errors = done.stderr.splitlines()
    assert len(errors) == 2
    for error in errors:
        assert error.startswith("syncopate: large.yaml: ")
        assert "/disk/.a.partial-" in error or "/disk/.b.partial-" in error
        assert "No space left on device" in error
