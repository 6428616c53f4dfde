"""A few steps of a run, stream by stream: who did what when, and which event let it begin.

    python analysis/plots/timeline.py RUN... --out FILE_STEM [--steps FROM TO] [--labels TEXT...]

One lane for the host and one for each stream; runs are stacked on one time axis. Colours tell kinds
apart, odd steps are lighter. A hatched piece is a wait: of a stream for an event, or of the host. A
thin arrow leads from the point that an event recorded to what waited for it; a diamond marks the
point. A red triangle marks work that began before its input was there.
Writes FILE_STEM.png and FILE_STEM.svg.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lanes import ORDER, lanes, too_early, window  # noqa: E402
from run import RunError, middle_steps, read, source_of  # noqa: E402
from style import FONT, WIDTH, add_sources, bare, format_time, save, unit_of  # noqa: E402

# Okabe and Ito's colours: apart for all kinds of colour vision, and in lightness too.
COLOURS = {"span": "#E69F00", "call": "#F0E442", "h2d": "#56B4E9", "compute": "#009E73",
           "carry": "#0072B2", "copy": "#999999", "d2h": "#CC79A7"}
TOO_EARLY = "#D55E00"
HATCHED = {"facecolor": "#f4f4f4", "edgecolor": "#8a8a8a", "hatch": "////", "linewidth": 0.6}
MEANING = {"span": "host work", "call": "in a call", "h2d": "h2d", "compute": "compute",
           "carry": "carry-over", "copy": "device copy", "d2h": "d2h"}

HEIGHT = {"wait": 0.26, "block": 0.26}  # of a lane; 0.72 for what works
SMALL = 11  # points: text in bars
AXIS = 0.86 * WIDTH * 72  # about the points of its length
LETTER = 0.62 * SMALL  # about a letter's width


@dataclass
class Steps:
    """Some steps of a run, to be drawn. Times are in nanoseconds."""

    label: str
    source: str
    races: int
    lanes: list
    arrows: list
    begin: int
    end: int
    first: int
    last: int


def load(folder, label=None, steps=None):
    timeline, metrics, environment = read(folder)
    label = label or Path(folder).name
    try:
        lane_list, arrows = lanes(timeline)
        source = source_of(environment)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise RunError(f"{folder}: not a run that can be drawn: {error!r}") from error
    steps = steps or middle_steps([p.step for lane in lane_list for p in lane.pieces], 3)
    bounds = steps and window(lane_list, *steps)
    if not bounds:
        raise RunError(f"{label}: no operation in steps {steps[0]} to {steps[1]}" if steps else
                       f"{label}: no operation belongs to a step")
    return Steps(label, source, metrics.get("races") or 0, lane_list, arrows, *bounds, *steps)


def tint(colour, step):
    """Odd steps are lighter."""
    return tuple(0.55 * part + 0.45 for part in to_rgb(colour)) if step % 2 else colour


def style_of(piece, width):
    """`width` in points: what is hardly wider than its frame shows its colour by that."""
    if piece.kind in HEIGHT:
        return HATCHED
    colour = tint(COLOURS[piece.kind], piece.step)
    frame = {"edgecolor": "black", "linewidth": 0.5} if width > 3 else {"edgecolor": colour,
                                                                       "linewidth": 1.2}
    return {"facecolor": colour, **frame}


def draw_lane(axis, index, lane, run, scale, points):
    """`scale` is a nanosecond's length on the axis, `points` its length in points."""
    free = 0.0  # where the next number beside a bar may begin, in points
    for piece in lane.pieces:
        start, end = max(piece.start, run.begin), min(piece.end, run.end)
        if end < start or (end == start and piece.end > piece.start):
            continue
        left, width = start - run.begin, end - start
        height = HEIGHT.get(piece.kind, 0.72)
        axis.broken_barh([(left * scale, width * scale)], (index - height / 2, height),
                         **style_of(piece, width * points))
        if piece.kind in HEIGHT or piece.kind == "call" or piece.step < 0:
            continue
        number = str(piece.step)
        for text in (f"{piece.name} {number}", number):
            if len(text) * LETTER < width * points:
                axis.text((left + width / 2) * scale, index, text, ha="center", va="center",
                          fontsize=SMALL,
                          color="white" if piece.kind == "carry" and not piece.step % 2 else "black")
                break
        else:
            # A carry-over's number is that of the compute after it; a rest at the rim needs none.
            if piece.kind == "carry" or (start, end) != (piece.start, piece.end):
                continue
            # Beside the bar, above the hatched waits; for the host, whose bars touch, over it.
            room = len(number) * LETTER + 4
            at_end = (left + width) * points
            if index == 0:
                at, align, y = (left + width / 2) * points, "center", index - 0.48
                begin = at - room / 2
            elif at_end + room < AXIS:
                at, align, y = at_end + 3, "left", index - 0.26
                begin = at
            else:
                at, align, y = left * points - 3, "right", index - 0.26
                begin = at - room
            if begin >= free:
                axis.text(at / points * scale, y, number, ha=align, va="center", fontsize=SMALL - 1)
                free = begin + room


def draw_events(axis, run, scale):
    """For each event that led to something in these steps its mark, and an arrow to what waited."""
    for arrow in run.arrows:
        if not (run.begin <= arrow.start <= run.end and run.begin <= arrow.end <= run.end):
            continue
        start, end = ((time - run.begin) * scale for time in (arrow.start, arrow.end))
        down = 1 if arrow.target > arrow.source else -1
        axis.plot(start, arrow.source + 0.36 * down, "D", color="black", markersize=4, zorder=5,
                  clip_on=False)
        axis.annotate("", (end, arrow.target - 0.14 * down), (start, arrow.source + 0.36 * down),
                      arrowprops={"arrowstyle": "-|>", "linewidth": 0.9, "color": "black",
                                  "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9}, zorder=5)


def draw_run(axis, run, span):
    scale, unit = unit_of(span * 1e-9)
    scale *= 1e-9
    points = AXIS / span
    for index, lane in enumerate(run.lanes):
        draw_lane(axis, index, lane, run, scale, points)
    draw_events(axis, run, scale)
    for index, time in marks(run):
        axis.plot((time - run.begin) * scale, index + 0.36, "^", color=TOO_EARLY,
                  markeredgecolor="black", markersize=11, zorder=6, clip_on=False)
    margin = 0.008 * span * scale
    axis.set(xlim=(-margin, span * scale + margin), ylim=(len(run.lanes) - 0.4, -0.62),
             yticks=range(len(run.lanes)),
             xlabel=f"{unit} since the start" if run.begin == 0 else
             f"{unit} from {format_time(run.begin * 1e-9)} on")
    axis.set_yticklabels([lane.label for lane in run.lanes])
    races = f": {run.races} kinds of race" if run.races else ""
    axis.set_title(f"{run.label}{races}", loc="left", pad=8)
    bare(axis)


def marks(run):
    return [(index, time) for index, time in too_early(run.lanes) if run.begin <= time <= run.end]


def legend(figure, runs):
    shown = {piece.kind for run in runs for lane in run.lanes for piece in lane.pieces
             if piece.end >= run.begin and piece.start < run.end}
    keys = [Patch(facecolor=COLOURS[kind], edgecolor="black", linewidth=0.5, label=MEANING[kind])
            for kind in ORDER if kind in shown and kind in COLOURS]
    if shown & set(HEIGHT):
        keys.append(Patch(**HATCHED, label="waiting"))
    if any(run.arrows for run in runs):
        keys.append(Line2D([], [], color="black", linewidth=0.9, marker="D", markersize=4,
                           label="event → wait"))
    if any(marks(run) for run in runs):
        keys.append(Line2D([], [], color=TOO_EARLY, marker="^", markersize=10, linestyle="",
                           markeredgecolor="black", label="began before its input was there"))
    figure.legend(handles=keys, loc="outside upper left", ncols=len(keys), frameon=False,
                  fontsize=12, columnspacing=1.1, handlelength=1.4, handletextpad=0.5)


@matplotlib.rc_context(FONT)
def draw(runs):
    """The figure of `runs`, of each the steps that it was loaded with."""
    heights = [0.52 * len(run.lanes) + 0.2 for run in runs]
    figure, axes = plt.subplots(len(runs), 1, layout="constrained", squeeze=False,
                                height_ratios=heights,
                                figsize=(WIDTH, sum(heights) + 0.95 * len(runs) + 1.0))
    span = max(run.end - run.begin for run in runs)
    for axis, run in zip(axes.flat, runs):
        draw_run(axis, run, span)
    legend(figure, runs)
    add_sources(figure, runs, "Odd steps are lighter." if any(r.last > 0 for r in runs) else "")
    return figure


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's folder")
    parser.add_argument("--out", metavar="FILE_STEM", help="(timeline, in the first run's folder)")
    parser.add_argument("--steps", nargs=2, type=int, metavar=("FROM", "TO"),
                        help="the steps shown (three from the middle)")
    parser.add_argument("--labels", nargs="+", metavar="TEXT", help="one for each run")
    options = parser.parse_args(arguments)
    if options.labels and len(options.labels) != len(options.runs):
        parser.error(f"{len(options.labels)} labels for {len(options.runs)} runs")
    labels = options.labels or [None] * len(options.runs)
    try:
        figure = draw([load(run, label, options.steps)
                       for run, label in zip(options.runs, labels)])
    except RunError as error:
        parser.exit(1, f"timeline.py: {error}\n")
    save(figure, options.out or Path(options.runs[0]) / "timeline")


if __name__ == "__main__":
    main()
