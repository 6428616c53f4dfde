"""Who was busy when: a band of device and host activity for each run, and a window of its streams.

    python analysis/plots/activity.py RUN... --out FILE_STEM [--labels TEXT...] [--window FIRST LAST]
                                      [--bands FIRST LAST]

Runs are stacked on one time axis, and so are their windows. With --bands there are only the bands,
and of them only those steps. In a band, green is device active, red is host active with the device
idle, grey is both idle or waiting. Where a step is too short to be seen, the band's height is divided
by the shares, so a long run is drawn as truly as a short one. Writes FILE_STEM.png and FILE_STEM.svg.
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
from run import (COPIES, RunError, coverage, device_activity, load, merge,  # noqa: E402
                 middle_steps)
from style import FONT, WIDTH, add_sources, bare, format_time, save, unit_of  # noqa: E402

# Red and green of one lightness look alike to many; these differ in lightness too: a light green
# and a dark red.
DEVICE = "#5cc48d"
HOST = "#a11d33"
IDLE = "#d4d4d4"
HOST_WORK = "#3b4252"
ROW_COLOURS = {"host_span": HOST_WORK, "host_block": IDLE, "kernel": DEVICE, "graph": DEVICE}
COPY_COLOURS = {"h2d": "#2b6cb0", "d2h": "#e0a526", "d2d": "#7a5aa6", "peer": "#7a5aa6"}

BINS = 1600  # about the pixels of the band's width


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


def shares(run, edges):
    """Of each bin between `edges` the shares that the device was active, the host alone, and
    neither."""
    device_intervals = device_activity(run)
    device = coverage(device_intervals, edges)
    waiting = merge(np.concatenate([device_intervals, run.blocked]))
    host = np.clip(1.0 - coverage(waiting, edges), 0.0, 1.0)
    host = np.minimum(host, 1.0 - device)
    return device, host, 1.0 - device - host


def draw_band(axis, run, edges):
    """The shares in each bin, stacked to the band's full height."""
    axis.stackplot(
        np.repeat(edges, 2)[1:-1],
        *(np.repeat(share, 2) for share in shares(run, edges)),
        colors=(DEVICE, HOST, IDLE),
        linewidth=0,
    )
    axis.set(ylim=(0, 1), yticks=[])
    bare(axis)


def draw_exactly(axis, run, begin, end):
    """From `begin` to `end`, a block for each time that one of the three holds."""
    moments = np.concatenate([device_activity(run).ravel(), run.blocked.ravel()])
    inside = moments[(moments > begin) & (moments < end)]
    edges = np.unique(np.concatenate([[begin, end], inside]))
    holds = np.argmax(shares(run, edges), axis=0)
    for which, colour in enumerate((DEVICE, HOST, IDLE)):
        at = holds == which
        # A gap may be thinner than a pixel: its edge keeps it visible.
        axis.broken_barh(list(zip(edges[:-1][at], np.diff(edges)[at])), (0, 1), facecolor=colour,
                         edgecolor=colour, linewidth=0.8 if which else 0, zorder=1 + which)
    axis.set(ylim=(0, 1), yticks=[])
    bare(axis)


def title(run, limit, of=""):
    return (f"{run.label}, {run.how}{of}: {format_time(run.total, limit)}, "
            f"device active {run.active_pct:.1f} %, idle {100 - run.active_pct:.1f} %")


def number_steps(axis, run, begin, end):
    """Each step's number in the middle of its device activity, where there is room."""
    work = np.isin(run.kind, ("kernel", "graph")) & (run.end > begin) & (run.start < end)
    for step in np.unique(run.step[work]):
        its = work & (run.step == step)
        first, last = max(run.start[its].min(), begin), min(run.end[its].max(), end)
        if last - first > 0.05 * (end - begin):
            axis.text((first + last) / 2, 0.5, str(step), ha="center", va="center", zorder=5)


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
    bare(axis)


def label_steps(axis, index, steps, starts, widths, begin, span, scale):
    for step, start, width in zip(steps, starts, widths):
        if step >= 0 and width > 0.03 * span:
            middle = (start - begin + width / 2) * scale
            axis.text(middle, index, str(step), ha="center", va="center")


def default_window(run):
    window = middle_steps(run.step, 4)
    if window is None:
        raise RunError(f"{run.label}: no operation belongs to a step")
    return window


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
        draw_band(band, run, band_edges(run, limit))
        band.set_xlim(0, limit)
        band.set_title(title(run, limit), loc="left", pad=12)
        band.xaxis.set_major_formatter(lambda x, _: f"{x * scale:g}")
        band.set_xlabel(f"{unit} since the start")
        draw_rows(rows, run, *windows[index], span, limit)
    kinds = {kind for run in runs for kind in run.kind}
    keys = band_keys() + [Patch(facecolor=HOST_WORK, label="host at work")]
    keys += [Patch(facecolor=COPY_COLOURS[kind], label=f"{kind} copy") for kind in COPIES
             if kind in kinds]
    figure.legend(handles=keys, loc="outside upper left", ncols=3, frameon=False)
    add_sources(figure, runs)
    return figure


@matplotlib.rc_context(FONT)
def draw_bands(runs, steps):
    """The figure of `runs` with nothing but their bands, from the first to the last of `steps`."""
    windows = [window_of(run, *steps) for run in runs]
    span = max(end - begin for begin, end in windows)
    scale, unit = unit_of(span)
    figure, axes = plt.subplots(len(runs), 1, figsize=(WIDTH, 1.45 * len(runs) + 1.2),
                                layout="constrained", squeeze=False)
    for axis, run, (begin, end) in zip(axes.flat, runs, windows):
        draw_exactly(axis, run, begin, end)
        number_steps(axis, run, begin, end)
        axis.set_xlim(begin, begin + span)
        axis.set_title(title(run, run.total, ", the whole run"), loc="left", pad=8)
        ticks = axis.xaxis.get_major_locator().tick_values(0, span * scale)
        ticks = [tick for tick in ticks if 0 <= tick <= span * scale]
        axis.set_xticks([begin + tick / scale for tick in ticks], [f"{tick:g}" for tick in ticks])
    axes.flat[-1].set_xlabel(f"{unit}; steps {steps[0]} to {steps[1]} of each run")
    figure.legend(handles=band_keys(), loc="outside upper left", ncols=3, frameon=False)
    add_sources(figure, runs)
    return figure


def band_keys():
    return [
        Patch(facecolor=DEVICE, label="device active"),
        Patch(facecolor=HOST, label="host active, device idle"),
        Patch(facecolor=IDLE, label="both idle; host waiting"),
    ]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's folder")
    parser.add_argument("--out", required=True, metavar="FILE_STEM")
    parser.add_argument("--labels", nargs="+", metavar="TEXT", help="one for each run")
    parser.add_argument("--window", nargs=2, type=int, metavar=("FIRST", "LAST"),
                        help="the steps shown stream by stream (four from the middle)")
    parser.add_argument("--bands", nargs=2, type=int, metavar=("FIRST", "LAST"),
                        help="only the bands, and of them these steps")
    options = parser.parse_args(arguments)
    if options.labels and len(options.labels) != len(options.runs):
        parser.error(f"{len(options.labels)} labels for {len(options.runs)} runs")
    labels = options.labels or [None] * len(options.runs)
    try:
        runs = [load(run, label) for run, label in zip(options.runs, labels)]
        figure = draw_bands(runs, options.bands) if options.bands else draw(runs, options.window)
    except RunError as error:
        parser.exit(1, f"activity.py: {error}\n")
    save(figure, options.out)


if __name__ == "__main__":
    main()
