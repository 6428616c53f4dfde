"""`syncopate run` with configurations of the Ulysses program."""

import json
import subprocess

import pytest
from program import PROGRAM, ROOT, needs_program

pytestmark = needs_program

SMALL = """
program: ulysses
runtime: {kind: sim, profile: h200x2}
shape: {world: 2, sequence: 21, heads: 8, kv_heads: 4, head_dim: 8, type: fp32}
variants:
  - strategy: ordinary
  - strategy: whole_fused
  - strategy: chunk_overlap
benchmark: {warmups: 1, iterations: 3}
"""
FILES = {"config.yaml", "profile.yaml", "environment.json", "metrics.json", "samples.csv",
         "timeline.json"}
VARIANTS = 3
PARTS = 3 + 5


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return file


def syncopate(*arguments, cwd):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
                          timeout=120)


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())


def test_a_run_leaves_a_whole_folder_and_a_row_for_each_variant(tmp_path, small):
    done = syncopate("run", small, "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert {f.name for f in (tmp_path / "a").iterdir()} == FILES
    head, *rows = done.stdout.split("\n\n")[1].splitlines()
    assert head.split() == ["config", "runtime", "variant", "schedule", "transport", "median", "ms",
                            "p90", "min", "max", "x", "ordinary", "x", "fused", "exposed", "ms",
                            "host", "us", "difference"]
    assert [row.split()[2] for row in rows] == ["ordinary", "whole_fused", "chunk_overlap"]
    m = metrics(tmp_path / "a")
    assert m["complete"] is True and m["races"] == 0
    assert m["steps"] == (1 + 3) * (VARIANTS + PARTS)
    assert "tokens" not in m and "batching" not in m
    lines = (tmp_path / "a" / "samples.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 * 2 * (VARIANTS + PARTS)
    assert sum(line.startswith("chunk_overlap 1+2+1,") for line in lines) == 3 * 2
    environment = json.loads((tmp_path / "a" / "environment.json").read_text())
    assert environment["seeds"] == {"runtime": 0, "inputs": 1}
    clean = syncopate("check", "a", cwd=tmp_path)
    assert (clean.returncode, clean.stdout[:9]) == (0, "no races ")


def test_the_folders_config_runs_the_same_again(tmp_path, small):
    assert syncopate("run", small, "--out", "first", cwd=tmp_path).returncode == 0
    again = syncopate("run", "first/config.yaml", "--out", "second", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    for name in FILES - {"environment.json"}:
        first = (tmp_path / "first" / name).read_bytes()
        assert first == (tmp_path / "second" / name).read_bytes(), name


def test_on_threads_too(tmp_path, small):
    done = syncopate("run", small, "--runtime", "cpu", "--set", "runtime.effects=on", "--set",
                     "variants.2.graphs=on", "--trace", "--timeline", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / tmp_path.name / "small-cpu"
    assert (folder / "trace.json.gz").exists()
    for variant in metrics(folder)["ulysses"]["variants"]:
        assert variant["difference"] < 1e-5
        assert variant["median_ms"] > 0
    assert "caller 0" in done.stdout and "caller 1" in done.stdout


def test_what_only_sim_has_is_left_out_on_another_runtime(tmp_path, small):
    small.write_text(SMALL.replace("profile: h200x2", "profile: h200x2, effects: off"))
    done = syncopate("run", small, "--runtime", "cpu", "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert metrics(tmp_path / "a")["ulysses"]["checked"] is not None


def test_both_programs_in_one_command_have_a_table_each(tmp_path, small):
    done = syncopate("run", ROOT / "configs/hash/async.yaml", small, "--out", "both", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    _, batching, ulysses = done.stdout.split("\n\n")
    assert batching.startswith("config  runtime  strategy")
    assert ulysses.startswith("config  runtime  variant")


def test_a_difference_that_is_too_large_is_a_run_that_failed(tmp_path, small):
    done = syncopate("run", small, "--set", "benchmark.tolerance=0", "--out", "a", cwd=tmp_path)
    assert done.returncode == 3
    error, kept = done.stderr.splitlines()
    assert error.startswith(f"syncopate: {small}: the attention of one device is wrong: batch 0, ")
    assert kept.endswith("a.incomplete")
    assert not (tmp_path / "a").exists()
    assert metrics(tmp_path / "a.incomplete")["complete"] is False


@pytest.mark.parametrize("setting, message", [
    ("variants.2.schedule=[1,1]", "1 + 1 is 2 heads, and a rank has 4"),
    ("shape.world=3", "cannot be divided among 3 ranks"),
    ("variants.2.stratgy=ordinary", "did you mean 'strategy'?"),
    ("runtime.profile=h200x3", "did you mean 'h200x2'?"),
])
def test_what_is_wrong_is_said_before_anything_is_written(tmp_path, small, setting, message):
    before = sorted(tmp_path.rglob("*"))
    done = syncopate("run", small, "--set", setting, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("config", sorted((ROOT / "configs" / "ulysses").glob("*.yaml")),
                         ids=lambda file: file.stem)
def test_the_configurations_here_run(tmp_path, config):
    done = syncopate("run", config, "--set", "benchmark.iterations=2", "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert metrics(tmp_path / "a")["races"] == 0


def test_overlap_hides_communication_of_two_gpus_in_virtual_time(tmp_path):
    done = syncopate("run", ROOT / "configs/ulysses/w2.yaml", "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    variants = {v["name"]: v for v in metrics(tmp_path / "a")["ulysses"]["variants"]}
    overlap = variants["chunk_overlap 7+14+7"]
    assert overlap["median_ms"] < variants["whole_fused"]["median_ms"]
    assert overlap["hidden_pct"] > 70
    assert abs(overlap["median_ms"] / overlap["limit_ms"] - 1) < 0.01
