"""`syncopate sweep`: points, tables, bad input, and sweeps that are killed or find the disk full."""

import csv
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pandas
import pytest
from program import PROGRAM, ROOT, SMALL, needs_program

pytestmark = needs_program

SWEEP = """
base: small.yaml
axes:
  - grid:
      limits.rows: [1, 2, 3]
      strategy.kind: [ordered, async]
"""
POINTS = list(itertools.product([1, 2, 3], ["ordered", "async"]))


@pytest.fixture
def sweep(tmp_path, small):
    """Writes a sweep's file beside the small configuration."""
    def write(text=SWEEP):
        file = tmp_path / "sweep.yaml"
        file.write_text(text)
        return file
    return write


def syncopate(*arguments, cwd, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
                          timeout=120, **options)


def run(file, *arguments, cwd, status=0):
    done = syncopate("sweep", file, *arguments, cwd=cwd)
    assert done.returncode == status, done.stderr
    return done


def rows_of(folder):
    with open(folder / "results.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table_of(folder):
    return (folder / "results.csv").read_bytes(), (folder / "results.json").read_bytes()


def test_a_grid_has_a_point_for_each_combination_in_order(tmp_path, sweep):
    done = run(sweep(), "--out", "a", cwd=tmp_path)
    assert done.stderr == ""
    rows = rows_of(tmp_path / "a")
    assert [(int(r["limits.rows"]), r["strategy.kind"]) for r in rows] == POINTS
    assert [int(r["point"]) for r in rows] == list(range(6))
    assert {r["status"] for r in rows} == {"ok"} and {r["error"] for r in rows} == {""}
    assert {r["runtime.kind"] for r in rows} == {"sim"} and {r["program"] for r in rows} == {"batching"}
    assert {f.name for f in (tmp_path / "a").iterdir()} == {
        "manifest.json", "results.csv", "results.json", "points"}
    assert {f"points/{f.name}" for f in (tmp_path / "a" / "points").iterdir()} == {
        r["folder"] for r in rows}
    assert "6 points in " in done.stdout and " points/s" in done.stdout


def test_each_point_is_what_run_makes_of_the_same_values(tmp_path, sweep):
    run(sweep(), "--out", "a", cwd=tmp_path)
    for row in rows_of(tmp_path / "a"):
        out = tmp_path / f"run{row['point']}"
        alone = syncopate("run", "small.yaml", "--set", f"limits.rows={row['limits.rows']}", "--set",
                          f"strategy.kind={row['strategy.kind']}", "--set", "output.log=off", "--set",
                          "output.tables=off", "--out", out, cwd=tmp_path)
        assert alone.returncode == 0, alone.stderr
        point = tmp_path / "a" / row["folder"]
        names = {f.name for f in point.iterdir()}
        assert names == {"config.yaml", "profile.yaml", "environment.json", "metrics.json"}
        for name in names - {"environment.json"}:
            assert (point / name).read_bytes() == (out / name).read_bytes(), name
        metrics = json.loads((out / "metrics.json").read_text())
        assert float(row["tokens_per_s"]) == metrics["tokens_per_s"]
        assert float(row["step_p90_ms"]) == metrics["step_time_ms"]["p90"]
        assert float(row["ttft_p50_ms"]) == metrics["batching"]["ttft_ms"]["p50"]
        assert float(row["idle_launch_ms"]) == metrics["idle_ms_by_cause"]["launch"]
        assert row["tokens_digest"] == metrics["tokens_digest"]


def test_pandas_reads_both_tables_alike(tmp_path, sweep):
    run(sweep(), "--out", "a", cwd=tmp_path)
    kept_as_text = {"tokens_digest": str}
    from_csv = pandas.read_csv(tmp_path / "a" / "results.csv", dtype=kept_as_text,
                               float_precision="round_trip")
    from_json = pandas.read_json(tmp_path / "a" / "results.json", dtype=kept_as_text,
                                 precise_float=True)
    assert list(from_csv.columns) == list(from_json.columns)
    for name in from_csv.columns:
        left, right = from_csv[name].dropna(), from_json[name].dropna()
        if pandas.api.types.is_float_dtype(left):  # its JSON reader may miss the last bits
            assert list(left) == pytest.approx(list(right), rel=1e-14), name
        else:
            assert list(left) == list(right), name


def test_zip_list_set_and_grid_together(tmp_path, sweep):
    file = sweep("""
base: small.yaml
set: {host.extra_us: 5}
axes:
  - zip:
      limits.rows: [1, 2]
      limits.pages: [16, 24]
  - list:
      - {strategy.kind: ordered}
      - {strategy.kind: async, strategy.slots: 3}
""")
    run(file, "--out", "a", cwd=tmp_path)
    rows = rows_of(tmp_path / "a")
    assert [[r[k] for k in ("limits.rows", "limits.pages", "strategy.kind", "strategy.slots")]
            for r in rows] == [["1", "16", "ordered", ""], ["1", "16", "async", "3"],
                               ["2", "24", "ordered", ""], ["2", "24", "async", "3"]]
    configs = [(tmp_path / "a" / r["folder"] / "config.yaml").read_text() for r in rows]
    assert all("extra_us: 5" in c for c in configs)
    assert ["slots: 3" in c for c in configs] == [False, True, False, True]


def test_ranges_are_written_out(tmp_path, sweep):
    file = sweep("""
base: small.yaml
axes:
  - zip:
      limits.rows: {from: 1, to: 9, factor: 2}
      host.extra_us: {from: 0, to: 0.3, step: 0.1}
  - grid: {limits.pages: {from: 16, to: 25, step: 4}}
""")
    run(file, "--out", "a", cwd=tmp_path)
    assert [[r[k] for k in ("limits.rows", "host.extra_us", "limits.pages")]
            for r in rows_of(tmp_path / "a")] == [
        [rows, us, pages] for rows, us in zip("1248", ["0", "0.1", "0.2", "0.3"])
        for pages in ("16", "20", "24")]


def test_constraints_drop_points_and_say_why(tmp_path, sweep):
    file = sweep(SWEEP + """
constraints:
  - require: not (strategy.kind == async and limits.rows * 2 > 4) or host.extra_us != 0
    because: three rows are too many
  - require: limits.rows >= 2
    because: one is too few
""")
    listed = run(file, "--dry-run", "--out", "a", cwd=tmp_path)
    assert not (tmp_path / "a").exists()
    assert "dropped limits.rows=3 strategy.kind=async: three rows are too many" in listed.stdout
    done = run(file, "--out", "a", cwd=tmp_path)
    assert "dropped 1 of 6 points: three rows are too many" in done.stdout
    assert "dropped 2 of 6 points: one is too few" in done.stdout
    assert [(int(r["limits.rows"]), r["strategy.kind"]) for r in rows_of(tmp_path / "a")] == [
        (2, "ordered"), (2, "async"), (3, "ordered")]
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert [d["because"] for d in manifest["dropped"]].count("one is too few") == 2
    assert manifest["environment"]["program"].startswith("syncopate ")


def test_repeats_move_the_seeds(tmp_path, sweep):
    file = sweep("""
base: small.yaml
axes: [grid: {limits.rows: [2, 3]}]
repeats: {count: 3, seeds: [runtime.seed, requests.seed]}
""")
    run(file, "--out", "a", cwd=tmp_path)
    rows = rows_of(tmp_path / "a")
    assert [(r["limits.rows"], r["repeat"]) for r in rows] == [
        (a, b) for a in "23" for b in "012"]
    for row in rows:
        config = (tmp_path / "a" / row["folder"] / "config.yaml").read_text()
        assert config.count(f"seed: {4 + int(row['repeat'])}\n") == 1  # of requests: 4 in the base
    assert len({r["tokens_digest"] for r in rows}) == 3


def test_a_ulysses_sweep_has_a_row_for_each_variant(tmp_path, sweep):
    (tmp_path / "two.yaml").write_text("""
program: ulysses
runtime: {kind: sim, profile: h200x2, effects: off}
shape: {world: 2, sequence: 64, heads: 8, head_dim: 8}
variants: [{strategy: ordinary}, {strategy: chunk_overlap}]
benchmark: {warmups: 1, iterations: 2}
""")
    file = sweep("""
base: two.yaml
axes:
  - grid:
      variants.*.transport: [peer, nccl]
      variants.1.schedule: [[2, 2], [1, 2, 1]]
""")
    run(file, "--out", "a", cwd=tmp_path)
    rows = rows_of(tmp_path / "a")
    assert [(r["variant_strategy"], r["variant_transport"], r["variant_schedule_heads"])
            for r in rows] == [
        (s, t, h) for t in ("peer", "nccl") for h2 in ("2+2", "1+2+1")
        for s, h in (("ordinary", "4"), ("chunk_overlap", h2))]
    assert [r["variants.1.schedule"] for r in rows[:4:2]] == ["[2,2]", "[1,2,1]"]
    for row in rows:
        metrics = json.loads((tmp_path / "a" / row["folder"] / "metrics.json").read_text())
        variant = metrics["ulysses"]["variants"][0 if row["variant_strategy"] == "ordinary" else 1]
        assert float(row["pass_median_ms"]) == variant["median_ms"]
        assert float(row["exposed_ms"]) == variant["exposed_ms"]
        assert row["tokens_per_s"] == "" and row["races"] == ""
    batching = run(sweep(), "--out", "b", cwd=tmp_path)
    assert batching.returncode == 0
    fixed = lambda folder: [c for c in rows_of(tmp_path / folder)[0] if "." not in c]
    assert fixed("a") == fixed("b"), "one schema for both programs"


def test_what_is_written_is_a_matter_of_asking(tmp_path, sweep):
    file = sweep()
    run(file, "--out", "a", "--set", "output.tables=on", "--set", "output.log=on", cwd=tmp_path)
    for point in (tmp_path / "a" / "points").iterdir():
        assert {"steps.csv", "requests.csv", "timeline.json"} < {f.name for f in point.iterdir()}
    assert {r["races"] for r in rows_of(tmp_path / "a")} == {"0"}


def test_another_runtime_gives_the_same_columns_and_tokens(tmp_path, sweep):
    file = sweep()
    run(file, "--out", "sim", cwd=tmp_path)
    run(file, "--out", "cpu", "--runtime", "cpu", "--jobs", "2", cwd=tmp_path)
    sim, cpu = rows_of(tmp_path / "sim"), rows_of(tmp_path / "cpu")
    assert list(sim[0]) == list(cpu[0])
    assert [r["tokens_digest"] for r in sim] == [r["tokens_digest"] for r in cpu]
    assert {r["runtime.kind"] for r in cpu} == {"cpu"}
    both = sweep(SWEEP + "      runtime.kind: [sim, cpu]\n")
    run(both, "--out", "both", cwd=tmp_path)
    assert {r["runtime.kind"] for r in rows_of(tmp_path / "both")} == {"sim", "cpu"}


WRONG = [
    # text in place of "limits.rows: [1, 2, 3]", place, message
    ("limits.rows: []", "5:20", "axes[0].grid.limits.rows: is an empty axis"),
    ("limits.row: [1]", "5:7", "unknown key 'row' in limits; did you mean 'rows'?"),
    ("limit.rows: [1]", "5:7", "unknown key 'limit' in the file; did you mean 'limits'?"),
    ("limits.rows: [1, two]", "5:24", "limits.rows: expected an integer"),
    ("limits.rows: [1, 0]", "5:24", "limits.rows: 0 is out of range"),
    ("limits.rows: 4", "5:20", "axes[0].grid.limits.rows: expected a map or a list"),
    ("limits.rows: [1, 1]", "5:24", "two points are the same"),
    ("strategy: [{kind: async}]", "6:7", "'strategy.kind' is set twice: at line 5, column 7 already"),
    ("limits.rows: [1]\n  - zip: {limits.pages: [16]}\n    grid: {limits.tokens: [8]}\n  - grid:", "6:5",
     "axes[1]: expected one of"),
    ("limits.rows: [1]\n  - zip: {limits.rows: [1]}\n  - grid:", "6:11",
     "'limits.rows' is set twice: at line 5, column 7 already"),
    ("limits.rows: [1]\n  - zip: {limits.pages: [16], limits.tokens: [8, 9]}\n  - grid:", "6:46",
     "has 2 values, and limits.pages has 1"),
    ("limits.rows: [1]\n  - list: []\n  - grid:", "6:11", "axes[1].list: is an empty axis"),
    ("strategy.slots: [2]", "5:24", "(the point strategy.slots=2 strategy.kind=ordered; a constraint"),
    ("limits.rows: {from: 2, to: 1, step: 1}", "5:20", "is an empty axis"),
    ("limits.rows: {from: 1, to: 2}", "5:20", "expected one of: step, factor"),
    ("limits.rows: {from: 1, to: 2, step: 1, factor: 2}", "5:20", "expected one of: step, factor"),
    ("limits.rows: {from: 1, to: 2, step: 0}", "5:20", "step must be above 0"),
    ("limits.rows: {from: 0, to: 2, factor: 2}", "5:20", "from must be above 0"),
    ("limits.rows: {from: 1, to: 2, factor: 1}", "5:20", "factor must be above 1"),
    ("limits.rows: {from: 1, to: 2e6, step: 1}", "5:20", "more than 1000000 numbers"),
    ("limits.rows: {from: 1, to: 2, step: 0.5}", "5:20", "limits.rows: expected an integer"),
    ("limits.rows: {form: 1}", "5:21", "did you mean 'from'?"),
    ("limits..rows: [2]", "5:7", "'limits..rows' is no key"),
]


@pytest.mark.parametrize("text, place, message", WRONG, ids=[w[0][:30] for w in WRONG])
def test_a_wrong_axis_is_an_error_with_its_place_and_nothing_is_written(tmp_path, sweep, text, place,
                                                                        message):
    file = sweep(SWEEP.replace("limits.rows: [1, 2, 3]", text))
    before = sorted(tmp_path.rglob("*"))
    done = run(file, cwd=tmp_path, status=2)
    assert done.stderr.startswith(f"syncopate: {file}:{place}: "), done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("more, place, message", [
    ("constraints: [{require: limits.row > 1, because: b}]", "7:25", "no 'limits.row'; did you mean 'rows'"),
    ("constraints: [{require: limits.rows >, because: b}]", "7:25", "expected a key, a number or text"),
    ("constraints: [{require: limits.rows, because: b}]", "7:25", "'limits.rows' is a number, where"),
    ("constraints: [{require: limits.rows == async, because: b}]", "7:25", "compares a number with text"),
    ("constraints: [{require: limits.rows > 9, because: b}]", "7:14", "drop every point"),
    ("constraints: [{require: limits.rows > 9}]", "7:15", "lacks the key 'because'"),
    ("repeats: {count: 2, seeds: [strategy.kind]}", "7:29", "no integer 'strategy.kind'"),
    ("repeats: 0", "7:10", "out of range"),
    ("set: {limits.rows: 4}", "5:7", "'limits.rows' is set twice: at line 7, column 7 already"),
    ("axis: 1", "7:1", "unknown key 'axis'"),
    ("base: none.yaml", "2:7", "none.yaml: no such file"),
])
def test_the_rest_of_a_sweep_s_file_is_read_as_strictly(tmp_path, sweep, more, place, message):
    text = SWEEP.replace("base: small.yaml", more) if more.startswith("base") else SWEEP + more
    file = sweep(text + "\n")
    done = run(file, cwd=tmp_path, status=2)
    assert done.stderr.startswith(f"syncopate: {file}:{place}: "), done.stderr
    assert message in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("arguments, message", [
    (["--set", "limits.rows=4"], "'limits.rows' is an axis"),
    (["--set", "limits.row=4"], "did you mean 'rows'?"),
    (["--runtime", "gpu"], "unknown value 'gpu'"),
    (["--shard", "3/2"], "expected I/N"),
    (["--shard", "0/2"], "expected I/N"),
    (["--jobs", "0"], "--jobs"),
    (["--force", "--resume"], "--force"),
    (["--out", "."], "is no sweep's folder"),
])
def test_a_wrong_command_writes_nothing(tmp_path, sweep, arguments, message):
    file = sweep()
    before = sorted(tmp_path.rglob("*"))
    done = run(file, *arguments, cwd=tmp_path, status=2)
    assert message in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_sweep_is_replaced_only_by_force_and_goes_on_only_when_told(tmp_path, sweep):
    file = sweep()
    run(file, "--out", "a", cwd=tmp_path)
    refused = run(file, "--out", "a", cwd=tmp_path, status=2)
    assert "--resume" in refused.stderr and "--force" in refused.stderr
    # An axis that grows: what was finished is kept.
    first = {f.name: f.stat().st_ino for f in (tmp_path / "a" / "points").iterdir()}
    grown = sweep(SWEEP.replace("[1, 2, 3]", "[1, 2, 3, 4]"))
    done = run(grown, "--out", "a", "--resume", cwd=tmp_path)
    assert "2 points in " in done.stdout and "6 points had been finished before" in done.stdout
    now = {f.name: f.stat().st_ino for f in (tmp_path / "a" / "points").iterdir()}
    assert len(now) == 8 and first.items() <= now.items()
    assert len(rows_of(tmp_path / "a")) == 8
    repeated = run(sweep(SWEEP + "repeats: 2\n"), "--out", "a", "--resume", cwd=tmp_path)
    assert "6 points in " in repeated.stdout and "6 points had been finished" in repeated.stdout
    forced = run(sweep(), "--out", "a", "--force", cwd=tmp_path)
    assert "6 points in " in forced.stdout
    assert len(list((tmp_path / "a" / "points").iterdir())) == 6
    assert [f.name for f in tmp_path.iterdir() if f.name.startswith(".")] == []


def test_a_point_that_fails_is_a_row_and_the_status_and_is_tried_again(tmp_path, sweep):
    """Its trace is too large a file."""
    file = sweep("""
base: small.yaml
axes:
  - list:
      - {requests.count: 6}
      - {requests.count: 60, output.log: on}
      - {requests.count: 7}
""")

    def limit():
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))

    done = syncopate("sweep", file, "--out", "a", cwd=tmp_path, preexec_fn=limit,
                     restore_signals=False)
    assert done.returncode == 3, done.stderr
    assert "point 1 (requests.count=60 " in done.stderr and "File too large" in done.stderr
    rows = rows_of(tmp_path / "a")
    assert [r["status"] for r in rows] == ["ok", "failed", "ok"]
    assert "File too large" in rows[1]["error"]
    assert rows[1]["requests.count"] == "60" and rows[1]["tokens"] == ""
    again = run(file, "--out", "a", "--resume", cwd=tmp_path)
    assert "1 point in " in again.stdout
    assert [r["status"] for r in rows_of(tmp_path / "a")] == ["ok"] * 3


LONG = """
base: small.yaml
axes:
  - grid:
      limits.rows: [1, 2, 3]
      host.extra_us: [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
      strategy.kind: [ordered, async]
"""


def test_killed_at_any_moment_a_sweep_resumes_to_the_same_table(tmp_path, sweep):
    seed = int(os.environ.get("SYNCOPATE_SWEEP_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}")
    moments = random.Random(seed)
    file = sweep(LONG)
    begin = time.monotonic()
    run(file, "--out", "whole", cwd=tmp_path)
    duration = time.monotonic() - begin
    whole = table_of(tmp_path / "whole")
    killed = 0
    folder = tmp_path / "a"
    inodes = {}
    for attempt in range(20):
        program = subprocess.Popen([PROGRAM, "sweep", file, "--out", "a", "--resume"], cwd=tmp_path,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(moments.uniform(0, 1.2 * duration))
        program.kill()
        out, errors = program.communicate(timeout=120)
        context = f"seed {seed}, attempt {attempt}, printed {out!r} {errors!r}"
        assert program.returncode in (0, -signal.SIGKILL), context
        killed += program.returncode != 0
        points = folder / "points"
        now = {f.name: f.stat().st_ino for f in points.iterdir()
               if not f.name.startswith(".")} if points.exists() else {}
        assert inodes.items() <= now.items(), f"a finished point was run again: {context}"
        for name in now:
            json.loads((points / name / "metrics.json").read_text())
        inodes = now
        if (folder / "results.csv").exists():
            assert program.returncode != 0 or table_of(folder) == whole, context
            shutil.rmtree(folder)  # done: once more from the beginning
            inodes = {}
    assert killed > 0, f"seed {seed}"
    run(file, "--out", "a", "--resume", cwd=tmp_path)
    assert table_of(folder) == whole, f"seed {seed}"
    assert not list((folder / "points").glob(".*")), f"seed {seed}: what was killed is cleaned up"


def can_mount():
    if not shutil.which("unshare"):
        return False
    probe = "mount -t tmpfs -o size=64k none /mnt"
    return subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", probe],
                          capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="no file system may be mounted here")
def test_on_a_full_disk_a_sweep_stops_and_goes_on_when_there_is_room(tmp_path, sweep):
    file = sweep(LONG)
    run(file, "--out", "whole", cwd=tmp_path)
    (tmp_path / "disk").mkdir()
    script = f"""
        mount -t tmpfs -o size=600k none disk
        '{PROGRAM}' sweep {file} --out disk/a
        echo "status $?"
        ls disk/a/points | wc -l
        mount -o remount,size=8m disk
        '{PROGRAM}' sweep {file} --out disk/a --resume && cp disk/a/results.* .
        """
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script],
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "status 3" in done.stdout
    assert "No space left on device" in done.stderr and "go on with --resume" in done.stderr
    finished = int(done.stdout.split("status 3\n")[1].splitlines()[0])
    assert 0 < finished < 60
    assert f"{finished} points had been finished before" in done.stdout
    for name in ("results.csv", "results.json"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_shards_share_a_folder_and_the_last_one_writes_the_table(tmp_path, sweep):
    file = sweep(LONG)
    run(file, "--out", "whole", cwd=tmp_path)
    shards = [subprocess.Popen([PROGRAM, "sweep", file, "--out", "a", "--shard", f"{i}/3"],
                               cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
              for i in (1, 2, 3)]
    for shard in shards:
        out, errors = shard.communicate(timeout=120)
        assert shard.returncode == 0, errors
        assert "20 points in " in out
    assert table_of(tmp_path / "a") == table_of(tmp_path / "whole")


def test_shards_of_other_folders_are_joined_by_resuming_over_their_points(tmp_path, sweep):
    file = sweep()
    run(file, "--out", "whole", cwd=tmp_path)
    for i in (1, 2):
        done = run(file, "--out", f"part{i}", "--shard", f"{i}/2", cwd=tmp_path)
        assert "3 points of other shards are not finished" in done.stdout
        assert not (tmp_path / f"part{i}" / "results.csv").exists()
    for point in (tmp_path / "part2" / "points").iterdir():
        point.rename(tmp_path / "part1" / "points" / point.name)
    joined = run(file, "--out", "part1", "--resume", cwd=tmp_path)
    assert "6 points had been finished before" in joined.stdout
    assert table_of(tmp_path / "part1") == table_of(tmp_path / "whole")


def test_the_example_of_the_page_of_all_keys_can_run(tmp_path, sweep):
    page = (ROOT / "docs" / "config.md").read_text().split("# Sweeps")[1]
    example = page.split("```yaml\n")[1].split("```")[0]
    file = sweep(example.replace("../hash", str(ROOT / "configs" / "hash")))
    done = run(file, "--dry-run", cwd=tmp_path)
    assert "33 points" in done.stdout  # of 12 combinations one is dropped, the others are run thrice
    assert "dropped limits.rows=32 strategy.kind=async limits.tokens=256" in done.stdout


@pytest.mark.parametrize("file", sorted((ROOT / "configs" / "sweeps").glob("*.yaml")),
                         ids=lambda f: f.stem)
def test_the_sweeps_here_can_run(file, tmp_path):
    done = run(file, "--dry-run", cwd=tmp_path)
    assert "to run" in done.stdout
