"""Who was busy when: a band of device and host activity for each run, and a window of its streams.

    python analysis/plots/activity.py RUN... --out FILE_STEM [--labels TEXT...] [--window FIRST LAST]

Runs are stacked on one time axis, and so are their windows. In a band, green is device active, red
is host active with the device idle, grey is both idle or waiting. Where a step is too short to be
seen, the band's height is divided by the shares, so a long run is drawn as truly as a short one.
Writes FILE_STEM.png and FILE_STEM.svg.
"""

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import COPIES, RunError, coverage, device_activity, load, merge  # noqa: E402

# Red and green of one lightness look alike to many; these differ in lightness too: a light green
# and a dark red.
DEVICE = "#5cc48d"
HOST = "#a11d33"
IDLE = "#d4d4d4"
HOST_WORK = "#3b4252"
ROW_COLOURS = {"host_span": HOST_WORK, "host_block": IDLE, "kernel": DEVICE, "graph": DEVICE}
COPY_COLOURS = {"h2d": "#2b6cb0", "d2h": "#e0a526", "d2d": "#7a5aa6", "peer": "#7a5aa6"}

BINS = 1600  # about the pixels of the band's width
WIDTH = 11.0  # inches
FONT = {"font.size": 13, "axes.titlesize": 15}  # readable at half size


def band_edges(run, limit):
    """Edges of the band's bins: fine ones while a step is many bins wide; else edges at every n-th
    step's end, since bins that hold a fraction of a step each would show a beat and no share."""
    bins = max(2, int(BINS * run.total / limit))
    steps = np.unique(run.step[run.step >= 0])
    if len(steps) < bins / 8:
        return np.linspace(0.0, run.total, bins + 1)
    every = int(np.ceil(len(steps) * 4 / bins))
    work = np.isin(run.kind, ("kernel", "graph")) & (run.step >= 0)
    ends = np.zeros(len(steps))
    np.maximum.at(ends, np.searchsorted(steps, run.step[work]), run.end[work])
    return np.unique(np.concatenate([[0.0], ends[every - 1::every], [run.total]]))


def draw_band(axis, run, limit):
    """Shares of device, host and neither in each bin, stacked to the band's full height."""
    edges = band_edges(run, limit)
    device_intervals = device_activity(run)
    device = coverage(device_intervals, edges)
    waiting = merge(np.concatenate([device_intervals, run.blocked]))
    host = np.clip(1.0 - coverage(waiting, edges), 0.0, 1.0)
    host = np.minimum(host, 1.0 - device)
    axis.stackplot(
        np.repeat(edges, 2)[1:-1],
        *(np.repeat(share, 2) for share in (device, host, 1.0 - device - host)),
        colors=(DEVICE, HOST, IDLE),
        linewidth=0,
    )
    axis.set(xlim=(0, limit), ylim=(0, 1), yticks=[])
    axis.set_title(
        f"{run.label}, {run.how}: {format_time(run.total, limit)}, "
        f"device active {run.active_pct:.1f} %, idle {100 - run.active_pct:.1f} %",
        loc="left",
        pad=12,
    )
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def window_of(run, first, last):
    """The time from the first operation of step `first` to the last one of step `last`."""
    inside = (run.step >= first) & (run.step <= last)
    if not inside.any():
        raise RunError(f"{run.label}: no operation in steps {first} to {last}")
    return run.start[inside].min(), run.end[inside].max()


def rows_of(run):
    """The host and the streams that were used, in the order of an operation's way through them."""
    rank = {"host": 0, "h2d": 1, "kernel": 2, "graph": 2, "d2h": 4}
    order = {}
    for row in np.unique(run.row):
        kinds = np.unique(run.kind[run.row == row])
        order[row] = 0 if row == "host" else min(rank.get(kind, 3) for kind in kinds)
    return sorted(order, key=lambda row: (order[row], row))


def draw_rows(axis, run, begin, end, span, limit):
    """The streams from `begin` to `end`, on an axis that is `span` long; `limit` as in the bands."""
    scale, unit = unit_of(span)
    rows = rows_of(run)
    for index, row in enumerate(rows):
        at = (run.row == row) & (run.end > begin) & (run.start < end)
        for kind in np.unique(run.kind[at]):
            shown = at & (run.kind == kind)
            starts = np.maximum(run.start[shown], begin)
            widths = np.minimum(run.end[shown], end) - starts
            axis.broken_barh(
                list(zip((starts - begin) * scale, widths * scale)),
                (index - 0.4, 0.8),
                facecolor=COPY_COLOURS.get(kind) or ROW_COLOURS.get(kind, IDLE),
                # A copy may be thinner than a pixel: its edge keeps it visible.
                edgecolor=COPY_COLOURS.get(kind, "white"),
                linewidth=0.8,
            )
            if kind in ("kernel", "graph"):
                label_steps(axis, index, run.step[shown], starts, widths, begin, span, scale)
    axis.set(
        xlim=(0, span * scale),
        ylim=(len(rows) - 0.4, -0.6),
        yticks=range(len(rows)),
        xlabel=f"{unit} from {format_time(begin, limit)} on",
    )
    axis.set_yticklabels(rows)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)


def label_steps(axis, index, steps, starts, widths, begin, span, scale):
    for step, start, width in zip(steps, starts, widths):
        if step >= 0 and width > 0.03 * span:
            middle = (start - begin + width / 2) * scale
            axis.text(middle, index, str(step), ha="center", va="center")


def unit_of(seconds):
    if seconds >= 2:
        return 1.0, "s"
    return (1e3, "ms") if seconds >= 2e-3 else (1e6, "µs")


def format_time(seconds, like=None):
    """In the unit of `like`, or in its own."""
    scale, unit = unit_of(like or seconds)
    return f"{seconds * scale:.4g} {unit}"


def default_window(run):
    """Four steps from the middle of the run, where it has settled."""
    steps = np.unique(run.step[run.step >= 0])
    if len(steps) == 0:
        raise RunError(f"{run.label}: no operation belongs to a step")
    middle = max(0, len(steps) // 2 - 2)
    return steps[middle], steps[min(middle + 3, len(steps) - 1)]


@matplotlib.rc_context(FONT)
def draw(runs, window=None):
    """The figure of `runs`: for each a band, and below it the streams in a window of steps."""
    heights = []
    for run in runs:
        heights += [0.55, 0.27 * len(rows_of(run)) + 0.1]
    figure, axes = plt.subplots(
        len(heights),
        1,
        figsize=(WIDTH, 1.15 * sum(heights) + 0.95 * len(heights) + 0.6),
        height_ratios=heights,
        layout="constrained",
    )
    limit = max(run.total for run in runs)
    windows = [window_of(run, *(window or default_window(run))) for run in runs]
    span = max(end - begin for begin, end in windows)
    scale, unit = unit_of(limit)
    for index, run in enumerate(runs):
        band, rows = axes[2 * index], axes[2 * index + 1]
        draw_band(band, run, limit)
        band.xaxis.set_major_formatter(lambda x, _: f"{x * scale:g}")
        band.set_xlabel(f"{unit} since the start")
        draw_rows(rows, run, *windows[index], span, limit)
    kinds = {kind for run in runs for kind in run.kind}
    keys = [
        Patch(facecolor=DEVICE, label="device active"),
        Patch(facecolor=HOST, label="host active, device idle"),
        Patch(facecolor=IDLE, label="both idle; host waiting"),
        Patch(facecolor=HOST_WORK, label="host at work"),
    ]
    keys += [Patch(facecolor=COPY_COLOURS[kind], label=f"{kind} copy") for kind in COPIES
             if kind in kinds]
    figure.legend(handles=keys, loc="outside upper left", ncols=3, frameon=False)
    return figure


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's folder")
    parser.add_argument("--out", required=True, metavar="FILE_STEM")
    parser.add_argument("--labels", nargs="+", metavar="TEXT", help="one for each run")
    parser.add_argument("--window", nargs=2, type=int, metavar=("FIRST", "LAST"),
                        help="the steps shown stream by stream (four from the middle)")
    options = parser.parse_args(arguments)
    if options.labels and len(options.labels) != len(options.runs):
        parser.error(f"{len(options.labels)} labels for {len(options.runs)} runs")
    labels = options.labels or [None] * len(options.runs)
    try:
        figure = draw([load(run, label) for run, label in zip(options.runs, labels)],
                      options.window)
    except RunError as error:
        parser.exit(1, f"activity.py: {error}\n")
    figure.savefig(f"{options.out}.png", dpi=150)
    figure.savefig(f"{options.out}.svg")


if __name__ == "__main__":
    main()
