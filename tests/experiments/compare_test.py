"""`syncopate compare`, and the scripts that draw a sweep's table or keep it as Parquet."""

import csv
import importlib.machinery
import importlib.util
import io
import json
import statistics
import subprocess
import sys

import pandas
import pytest
from program import PROGRAM, ROOT, needs_program

pytestmark = needs_program

SWEEP = """
base: small.yaml
set: {runtime.chaos: on}
axes:
  - grid:
      strategy.kind: [ordered, async]
      limits.rows: [1, 2, 3, 4]
repeats: 4
"""


def syncopate(*arguments, cwd, status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == status, done.stderr
    return done


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def swept(tmp_path, small):
    """Two sweeps that differ in the host's speed, of random durations: a and b."""
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    syncopate("sweep", "sweep.yaml", "--out", "a", cwd=tmp_path)
    syncopate("sweep", "sweep.yaml", "--out", "b", "--set", "host.extra_us=20000", cwd=tmp_path)
    return tmp_path


def test_two_sweeps_are_compared_point_by_point(swept):
    done = syncopate("compare", "a", "b", "--figure", "step_mean_ms", "--figure", "total_time_s",
                     "--format", "csv", cwd=swept)
    rows = rows_of(done.stdout)
    assert len(rows) == 2 * 4 * 2
    tables = [pandas.read_csv(swept / name / "results.csv") for name in "ab"]
    for row in rows:
        left, right = (t[(t["strategy.kind"] == row["strategy.kind"]) &
                         (t["limits.rows"] == int(row["limits.rows"]))][row["figure"]] for t in tables)
        assert (row["rows_a"], row["rows_b"]) == ("4", "4")
        a, b = statistics.fmean(left), statistics.fmean(right)
        assert float(row["a"]) == pytest.approx(a) and float(row["b"]) == pytest.approx(b)
        assert float(row["difference"]) == pytest.approx(b - a)
        assert float(row["ratio"]) == pytest.approx(b / a)
        # No resampling leaves what the repeats span.
        least, most = min(right) / max(left), max(right) / min(left)
        assert least <= float(row["ratio_low"]) < float(row["ratio_high"]) <= most
        assert float(row["ratio_low"]) <= b / a <= float(row["ratio_high"])
    again = syncopate("compare", "a", "b", "--figure", "step_mean_ms", "--figure", "total_time_s",
                      "--format", "csv", cwd=swept)
    assert again.stdout == done.stdout, "the seed is fixed"


def test_the_table_says_what_is_beyond_noise_and_markdown_has_the_same_cells(swept):
    text = syncopate("compare", "a", "b", "--figure", "step_mean_ms", cwd=swept).stdout
    assert text.startswith("A: a\nB: b\n")
    head, *lines = text.split("\n\n")[1].splitlines()
    assert head.endswith("beyond noise")
    assert all(line.endswith("yes") for line in lines), "20 ms are more than the noise"
    markdown = syncopate("compare", "a", "b", "--figure", "step_mean_ms", "--format", "markdown",
                         cwd=swept).stdout.split("\n\n")[1].splitlines()
    assert set(markdown[1]) <= set("|-: ")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown[2:]]
    assert [" ".join(row).split() for row in cells] == [line.split() for line in lines]
    same = syncopate("compare", "a", "a", "--figure", "step_mean_ms", cwd=swept).stdout
    assert all(line.endswith("no") for line in same.split("\n\n")[1].splitlines()[1:])


def test_by_takes_other_rows_together(swept):
    rows = rows_of(syncopate("compare", "a", "b", "--by", "strategy.kind", "--format", "csv", cwd=swept,
                             ).stdout)
    assert {r["strategy.kind"] for r in rows} == {"ordered", "async"} and "limits.rows" not in rows[0]
    assert {r["rows_a"] for r in rows if r["figure"] == "tokens_per_s"} == {"16"}
    digests = [r for r in rows if r["figure"] == "tokens_digest"]
    assert [(r["a"] == r["b"], r["ratio"]) for r in digests] == [(True, "")] * 2


def test_what_only_one_of_them_has_is_counted(swept):
    (swept / "sweep.yaml").write_text(SWEEP.replace("[1, 2, 3, 4]", "[2, 3, 5]"))
    syncopate("sweep", "sweep.yaml", "--out", "c", cwd=swept)
    done = syncopate("compare", "a", "c", "--figure", "steps", "--format", "csv", cwd=swept)
    assert len(rows_of(done.stdout)) == 2 * 2
    assert "4 combinations are in A alone" in done.stderr
    assert "2 combinations are in B alone" in done.stderr


def test_two_runs_are_compared_with_what_they_were_told(tmp_path, small):
    syncopate("run", small, "--out", "a", cwd=tmp_path)
    syncopate("run", small, "--out", "b", "--set", "strategy.kind=ordered", cwd=tmp_path)
    text = syncopate("compare", "a", "b", cwd=tmp_path).stdout
    assert "strategy.kind: async, ordered\n" in text and "strategy.slots: 2, 1\n" in text
    rows = {line.split()[0]: line.split() for line in text.split("\n\n")[1].splitlines()[1:]}
    times = [json.loads((tmp_path / f / "metrics.json").read_text())["total_time_s"] for f in "ab"]
    assert float(rows["total_time_s"][4]) == pytest.approx(times[1] / times[0], abs=1e-4)
    assert rows["tokens_digest"][3] == "same"


def test_ulysses_runs_are_compared_by_variant(tmp_path):
    config = ROOT / "configs" / "ulysses" / "w2.yaml"
    syncopate("run", config, "--out", "a", "--set", "benchmark.iterations=2", cwd=tmp_path)
    syncopate("run", config, "--out", "b", "--set", "benchmark.iterations=2", "--set",
              "shape.sequence=8192", cwd=tmp_path)
    rows = rows_of(syncopate("compare", "a", "b", "--figure", "pass_median_ms", "--format", "csv",
                             cwd=tmp_path).stdout)
    variants = [json.loads((tmp_path / f / "metrics.json").read_text())["ulysses"]["variants"]
                for f in "ab"]
    assert [r["variant"] for r in rows] == [v["name"] for v in variants[0]]
    for row, a, b in zip(rows, *variants):
        assert float(row["ratio"]) == pytest.approx(b["median_ms"] / a["median_ms"])


@pytest.mark.parametrize("arguments, message", [
    (["a", "none"], "none: no such folder"),
    (["a", "."], "is neither a run's folder nor a sweep's"),
    (["a", "b", "--by", "strategy.kin"], "did you mean 'strategy.kind'?"),
    (["a", "b", "--figure", "step_mean_m"], "did you mean 'step_mean_ms'?"),
    (["a", "b", "--format", "html"], "--format"),
    (["a", "unfinished"], "is of a sweep that is not finished"),
    (["a"], "B is required"),
])
def test_what_cannot_be_compared_is_an_error(swept, arguments, message):
    (swept / "unfinished").mkdir()
    (swept / "unfinished" / "manifest.json").write_bytes((swept / "a" / "manifest.json").read_bytes())
    done = syncopate("compare", *arguments, cwd=swept, status=2)
    assert message in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def script(name, *arguments, status=0):
    done = subprocess.run([sys.executable, ROOT / "scripts" / name, *map(str, arguments)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


def test_a_sweep_is_drawn(swept):
    done = script("plot-sweep", swept / "a")
    assert done.stdout == f"{swept / 'a' / 'tokens_per_s.png'}\n"
    assert (swept / "a" / "tokens_per_s.png").read_bytes().startswith(b"\x89PNG")
    drawing = (swept / "a" / "tokens_per_s.svg").read_text()
    for text in ("tokens/s", "limits.rows", "strategy.kind", "ordered", "async", "simulated with"):
        assert f"<!-- {text}" in drawing, text
    script("plot-sweep", swept / "a", "--x", "strategy.kind", "--lines", "limits.rows", "--y",
           "ttft_p99_ms", "--out", swept / "other")
    assert "<!-- ttft_p99 (ms)" in (swept / "other.svg").read_text()


def test_what_cannot_be_drawn_is_said(swept, capsys):
    loader = importlib.machinery.SourceFileLoader("plot_sweep", str(ROOT / "scripts" / "plot-sweep"))
    plot_sweep = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot_sweep", loader))
    loader.exec_module(plot_sweep)
    for arguments, message in [
        (["none"], "no finished sweep"),
        (["a", "--y", "token"], "no column 'token'; there are point,"),
        (["a", "--y", "status"], "it holds no numbers"),
        (["a", "--where", "limits.rows=9"], "it has 1, 2, 3, 4"),
        (["a", "--where", "limits.rows"], "expected COLUMN=VALUE"),
        (["a", "--x", "repeat", "--lines", "strategy.kind", "--panels", "status"], "limits.rows as well"),
    ]:
        with pytest.raises(SystemExit) as ended:
            plot_sweep.main([str(swept / arguments[0]), *arguments[1:]])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


def test_a_table_is_kept_as_parquet(swept):
    pytest.importorskip("pyarrow", reason="no pyarrow: scripts/setup sweep")
    script("sweep-parquet", swept / "a")
    kept = pandas.read_parquet(swept / "a" / "results.parquet")
    table = pandas.read_csv(swept / "a" / "results.csv", dtype={"tokens_digest": str})
    pandas.testing.assert_frame_equal(kept, table)
