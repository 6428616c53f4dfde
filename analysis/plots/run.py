"""A run's folder, as the figures need it."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

COPIES = ("h2d", "d2h", "d2d", "peer")


class RunError(Exception):
    """A run's folder lacks something or holds something else; the text names the file."""


@dataclass
class Run:
    """One device of a run. Times are in seconds, in numpy arrays as long as there are operations."""

    label: str
    runtime: str  # "sim", "cpu" or "cuda"
    total: float
    active_pct: float
    kind: np.ndarray  # names of operation kinds
    row: np.ndarray  # the stream's label, "host" for the host's own work
    step: np.ndarray
    start: np.ndarray
    end: np.ndarray
    blocked: np.ndarray  # (n, 2): when the host was blocked
    source: str  # where its times come from, as a figure says it

    @property
    def how(self):
        return "simulated" if self.runtime == "sim" else f"measured ({self.runtime})"


def read(folder):
    """timeline.json, metrics.json and environment.json of `folder`."""
    return tuple(_read(Path(folder) / f"{name}.json")
                 for name in ("timeline", "metrics", "environment"))


def source_of(environment):
    """Where a run's times come from."""
    runtime = environment["runtime"]
    if runtime == "sim":
        profile = environment.get("profile")
        if not profile:
            return "simulated"
        return f"simulated with profile {profile['name']}: {profile['about']}"
    machine = environment.get("processor", "unknown")
    if environment.get("gpu"):
        machine = environment["gpu"]["name"]
    return f"measured on {runtime}, {machine}"


def middle_steps(steps, count):
    """The first and the last of `count` steps from the middle, where a run has settled: of `steps`,
    any numbers of which those >= 0 are steps. Fewer where there are fewer; None for none."""
    steps = np.unique([step for step in steps if step >= 0])
    if len(steps) == 0:
        return None
    count = min(count, len(steps))
    first = (len(steps) - count) // 2
    return int(steps[first]), int(steps[first + count - 1])


def load(folder, label=None, device=0):
    """The run in `folder`, of which `device` is wanted."""
    folder = Path(folder)
    timeline, metrics, environment = read(folder)
    try:
        kinds = np.array(timeline["operation_kinds"])
        operations = timeline["operations"]
        kind = kinds[np.array(operations["kind"], dtype=int)]
        stream = np.array(operations["stream"], dtype=int)
        host = np.array(operations["host"], dtype=int)
        start = np.array(operations["start"], dtype=np.int64)
        end = np.array(operations["end"], dtype=np.int64)
        labels = np.array([*timeline["streams"]["label"], "host"], dtype=object)
        devices = np.array([*timeline["streams"]["device"], -1], dtype=int)
        on_host = np.isin(kind, ("host_span", "host_block"))
        ours = np.where(on_host, host == device, devices[stream] == device)
        keep = ours & (start >= 0) & (end >= start) & (kind != "graph_node")
        blocked = keep & (kind == "host_block")
        return Run(
            label=label or folder.name,
            runtime=str(environment["runtime"]),
            total=float(metrics["total_time_s"]),
            active_pct=float(metrics["device_active_pct"]),
            kind=kind[keep],
            row=labels[stream[keep]],
            step=np.array(operations["step"], dtype=int)[keep],
            start=start[keep] * 1e-9,
            end=end[keep] * 1e-9,
            blocked=np.stack([start[blocked], end[blocked]], axis=1) * 1e-9,
            source=source_of(environment),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise RunError(f"{folder}: not a run that can be drawn: {error!r}") from error


def device_activity(run):
    """The (n, 2) intervals from a step's first kernel's start to its last one's end, merged."""
    work = np.isin(run.kind, ("kernel", "graph"))
    stepped = work & (run.step >= 0)
    steps, index = np.unique(run.step[stepped], return_inverse=True)
    begin = np.full(len(steps), np.inf)
    end = np.zeros(len(steps))
    np.minimum.at(begin, index, run.start[stepped])
    np.maximum.at(end, index, run.end[stepped])
    alone = work & (run.step < 0)
    return merge(
        np.concatenate(
            [
                np.stack([begin, end], axis=1),
                np.stack([run.start[alone], run.end[alone]], axis=1),
            ]
        )
    )


def merge(intervals):
    """Sorts (n, 2) intervals and merges those that overlap."""
    intervals = intervals[np.argsort(intervals[:, 0], kind="stable")]
    if len(intervals) == 0:
        return intervals
    reach = np.maximum.accumulate(intervals[:, 1])
    first = np.concatenate([[True], intervals[1:, 0] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([intervals[first, 0], reach[last]], axis=1)


def coverage(intervals, edges):
    """The share of each bin between `edges` that merged intervals cover. Exact, and linear."""
    if len(intervals) == 0:
        return np.zeros(len(edges) - 1)
    # Time covered up to a moment is piecewise linear, with a knee at each begin and end.
    covered = np.concatenate([[0.0], np.cumsum(intervals[:, 1] - intervals[:, 0])])
    knees = intervals.reshape(-1)
    values = np.stack([covered[:-1], covered[1:]], axis=1).reshape(-1)
    return np.diff(np.interp(edges, knees, values)) / np.diff(edges)


def _read(file):
    try:
        with open(file, encoding="utf-8") as text:
            return json.load(text)
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise RunError(f"{file}: not JSON: {error}") from error
