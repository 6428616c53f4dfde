"""A run's trace keeps the rules that tools for PyTorch's traces count on, and agrees with metrics.

The rules and the shares are those of HolisticTraceAnalysis, written out here: it needs JupyterLab
and some ninety more packages, which is too much for a test.
"""

import collections
import gzip
import itertools
import json
import subprocess

import pandas as pd
import pytest
from program import PROGRAM, ROOT, SMALL, needs_program

pytestmark = needs_program

DEVICE_WORK = ["kernel", "gpu_memcpy"]


def run(folder, config, *arguments):
    done = subprocess.run([PROGRAM, "run", config, "--out", folder, "--force", *arguments],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with gzip.open(folder / "trace.json.gz") as file:
        trace = json.load(file)
    return trace, json.loads((folder / "metrics.json").read_text())


def slices(trace):
    """The slices as a table, times in whole nanoseconds."""
    rows = []
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            rows.append({**event["args"], "cat": event["cat"], "name": event["name"],
                         "pid": event["pid"], "tid": event["tid"], "start": start,
                         "end": start + round(event["dur"] * 1000)})
    return pd.DataFrame(rows)


def covered(table):
    """Nanoseconds that the slices cover together."""
    total, until = 0, 0
    for start, end in table.sort_values("start")[["start", "end"]].itertuples(index=False):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def check_rules(trace):
    table = slices(trace)
    assert (table.end >= table.start).all(), "a duration is negative"
    assert table.start.min() >= 0

    host_pids = set(table[table.cat == "cuda_runtime"].pid)
    assert host_pids.isdisjoint(table[table.cat.isin(DEVICE_WORK)].pid)

    for row, group in table.groupby(["pid", "tid"]):
        stack = []  # ends of the slices that hold the next one; only a host's may nest
        order = group.assign(length=group.start - group.end).sort_values(["start", "length"])
        for start, end in order[["start", "end"]].itertuples(index=False):
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or (row[0] in host_pids and end <= stack[-1]), f"overlap in {row}"
            stack.append(end)

    calls = table[table.cat.isin(["cuda_runtime", "cuda_driver"])]
    assert calls.correlation.is_unique
    call_of = calls.set_index("correlation")
    work = table[table.cat.isin(DEVICE_WORK)]
    assert work.correlation.isin(call_of.index).all(), "work without the call that started it"
    assert (work.start.values >= call_of.loc[work.correlation].start.values).all()
    assert (work.stream == work.tid).all() and (work.device == work.pid).all()
    copies = table[table.cat == "gpu_memcpy"]
    assert (copies.bytes > 0).all() and copies.name.str.startswith("Memcpy ").all()
    syncs = table[table.cat == "cuda_sync"]
    assert syncs.correlation.isin(call_of.index).all()

    flows = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event.get("cat") == "ac2g":
            flows[event["id"]].append((event["ph"], event["pid"], event["tid"],
                                       round(event["ts"] * 1000)))
    ends = collections.Counter()
    for id, ((first, *place), *rest) in flows.items():
        assert first == "s"
        assert place == call_of.loc[id][["pid", "tid", "start"]].tolist()
        assert [phase for phase, *_ in rest] == ["f"] * len(rest) and rest
        ends[id] = len(rest)
    assert ends == collections.Counter(work.correlation.astype(int))

    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert named == set(table[["pid", "tid"]].itertuples(index=False, name=None))
    return table


@pytest.mark.parametrize("runtime,strategy,graphs", list(itertools.product(
    ["sim", "cpu"], ["default_stream", "ordered", "async"], ["on", "off"])))
def test_a_trace_keeps_the_rules(tmp_path, runtime, strategy, graphs):
    config = tmp_path / "small.yaml"
    config.write_text(SMALL)
    trace, metrics = run(tmp_path / "run", config, "--trace", "--runtime", runtime, "--set",
                         f"strategy.kind={strategy}", "--set", f"strategy.graphs={graphs}")
    table = check_rules(trace)
    steps = table[table.name.str.startswith("ProfilerStep#")]
    assert list(steps.name) == [f"ProfilerStep#{n}" for n in range(metrics["steps"])]
    share = 100 * covered(table[table.cat.isin(DEVICE_WORK)]) / metrics["total_time_s"] / 1e9
    assert share == pytest.approx(metrics["kernel_active_pct"], abs=0.1)


@pytest.mark.parametrize("name", ["ordered", "async"])
def test_shares_of_time_are_those_of_the_metrics(tmp_path, name):
    trace, metrics = run(tmp_path / "run", ROOT / "configs" / "hash" / f"{name}.yaml", "--trace")
    table = check_rules(trace)
    total = metrics["total_time_s"] * 1e9
    work = table[table.cat.isin(DEVICE_WORK)]
    assert 100 * covered(work) / total == pytest.approx(metrics["kernel_active_pct"], abs=0.1)
    by_step = work[work.cat == "kernel"].groupby("External id").agg({"start": "min", "end": "max"})
    assert 100 * covered(by_step) / total == pytest.approx(metrics["device_active_pct"], abs=0.1)


def test_a_window_has_its_steps_alone_and_as_they_are_in_the_whole(tmp_path):
    config = tmp_path / "small.yaml"
    config.write_text(SMALL)
    whole, metrics = run(tmp_path / "whole", config, "--trace")
    assert metrics["steps"] > 5
    part, _ = run(tmp_path / "part", config, "--trace", "--set", "output.window=[2,4]")
    expected = slices(whole)
    expected = expected[expected["External id"].between(3, 5)]
    found = check_rules(part)
    columns = ["cat", "name", "pid", "tid", "start", "end", "correlation"]
    pd.testing.assert_frame_equal(found[columns].reset_index(drop=True),
                                  expected[columns].reset_index(drop=True))


def test_virtual_time_gives_the_same_trace_again(tmp_path):
    config = tmp_path / "small.yaml"
    config.write_text(SMALL)
    run(tmp_path / "a", config, "--trace")
    run(tmp_path / "b", tmp_path / "a" / "config.yaml")  # which says so itself
    assert (tmp_path / "a/trace.json.gz").read_bytes() == (tmp_path / "b/trace.json.gz").read_bytes()


def test_no_trace_is_written_unless_asked_for(tmp_path):
    config = tmp_path / "small.yaml"
    config.write_text(SMALL)
    subprocess.run([PROGRAM, "run", config, "--out", tmp_path / "run"], check=True,
                   capture_output=True, timeout=120)
    assert not (tmp_path / "run" / "trace.json.gz").exists()
