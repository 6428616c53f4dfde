"""The activity figure is made from synthetic runs, and its shares are what the timeline says."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "analysis" / "plots"))
pytest.importorskip("matplotlib")
import activity  # noqa: E402
import run as runs  # noqa: E402

KINDS = ["kernel", "h2d", "d2h", "d2d", "peer", "graph", "graph_node", "host_span", "host_block"]
MS = 1_000_000


def write_run(folder, steps, asynchronous):
    """A batcher: 8 ms of host work and 28 ms of device work a step, one after the other or not."""
    rows = []

    def add(kind, stream, step, start, end):
        rows.append((KINDS.index(kind), stream, step, int(start * MS), int(end * MS)))

    now, device_free, done = 0.0, 0.0, None
    for step in range(steps):
        add("host_span", -1, step, now, now + 6)
        now += 6
        add("h2d", 0, step, now, now + 0.4)
        begin = max(now + 0.5, device_free)
        add("graph", 1, step, begin, begin + 28)
        device_free = begin + 28
        add("d2h", 2, step, device_free, device_free + 0.2)
        awaited = done if asynchronous else device_free + 0.2
        done = device_free + 0.2
        if awaited is not None:
            if awaited > now:
                add("host_block", -1, step, now, awaited)
            now = max(now, awaited)
            add("host_span", -1, step, now, now + 2)
            now += 2
    total = max(now, done)
    kind, stream, step, start, end = (list(column) for column in zip(*rows))
    timeline = {
        "operation_kinds": KINDS,
        "streams": {"label": ["h2d", "compute", "d2h"], "device": [0, 0, 0]},
        "operations": {"kind": kind, "stream": stream, "step": step, "start": start, "end": end,
                       "host": [0] * len(rows)},
    }
    folder.mkdir()
    active = 28 * steps / total * 100
    (folder / "timeline.json").write_text(json.dumps(timeline))
    (folder / "metrics.json").write_text(
        json.dumps({"total_time_s": total / 1e3, "device_active_pct": active}))
    (folder / "environment.json").write_text(
        json.dumps({"runtime": "cuda" if asynchronous else "sim"}))
    return folder


def test_both_files_are_made_and_not_blank(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    sync = write_run(tmp_path / "sync", 400, asynchronous=False)
    overlapped = write_run(tmp_path / "async", 400, asynchronous=True)
    stem = tmp_path / "figure"
    activity.main([str(sync), str(overlapped), "--out", str(stem), "--labels", "sync", "async"])
    pixels = image.imread(f"{stem}.png")[..., :3]
    for colour in (activity.DEVICE, activity.HOST, activity.IDLE):
        wanted = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
        near = np.abs(pixels - wanted).max(axis=-1) < 0.03
        assert near.sum() > 500, f"{colour} is missing"
    svg = Path(f"{stem}.svg").read_text()
    assert "<svg" in svg
    assert len(svg) < 1_000_000, "a long run must not be drawn operation by operation"


def test_shares_of_a_band_are_exact(tmp_path):
    run = runs.load(write_run(tmp_path / "run", 50, asynchronous=False))
    share = runs.coverage(runs.device_activity(run), np.array([0.0, run.total]))[0]
    assert share * 100 == pytest.approx(run.active_pct)


def test_coverage_agrees_with_a_fine_grid():
    random = np.random.default_rng(7)
    for _ in range(50):
        begin = random.integers(0, 90, size=8)
        intervals = np.stack([begin, begin + random.integers(0, 10, size=8)], axis=1)
        grid = np.zeros(100)
        for first, last in intervals:
            grid[first:last] = 1
        merged = runs.merge(intervals.astype(float))
        expected = grid.reshape(10, 10).mean(axis=1)
        assert runs.coverage(merged, np.linspace(0, 100, 11)) == pytest.approx(expected)


def test_a_title_says_whether_a_run_was_simulated(tmp_path):
    assert runs.load(write_run(tmp_path / "a", 3, asynchronous=False)).how == "simulated"
    assert runs.load(write_run(tmp_path / "b", 3, asynchronous=True)).how == "measured (cuda)"


def test_what_is_missing_or_wrong_is_named(tmp_path, capsys):
    folder = write_run(tmp_path / "run", 3, asynchronous=False)
    (folder / "metrics.json").unlink()
    with pytest.raises(SystemExit) as exit_info:
        activity.main([str(folder), "--out", str(tmp_path / "figure")])
    assert exit_info.value.code == 1
    assert "metrics.json: No such file" in capsys.readouterr().err
