"""What overlap gains in runs that differ in one thing each: the fastest overlapped pass against the
ordinary one and against the fastest without overlap, as strategy auto found them.

    python analysis/plots/gain.py RUN... --labels KEY=VALUE... --out FILE_STEM [--note TEXT]

A run's first variant is ordinary and its second auto. A label says what a run is a point of: tokens,
heads or link (GB/s); a panel for each. Writes FILE_STEM.png and FILE_STEM.svg.
"""

import argparse
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import RunError, source_of  # noqa: E402
from style import FONT, WIDTH, save  # noqa: E402

AXES = {"tokens": "tokens of the sequence", "heads": "heads", "link": "link, GB/s each way"}
# Okabe and Ito's colours; the markers differ too.
LINES = [("over ordinary", "#0072B2", "o", "-"),
         ("over the fastest pass without overlap", "#D55E00", "s", "--")]


def read_json(file):
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}") from error


def gains(folder):
    """Per cent that the fastest overlapped pass is faster than each of LINES' passes."""
    variants = read_json(folder / "metrics.json")["ulysses"]["variants"]
    if len(variants) != 2 or variants[0]["strategy"] != "ordinary" or not variants[1]["search"]:
        raise RunError(f"{folder}: its variants are not ordinary and auto")
    found = variants[1]["search"]
    overlapped = found["overlapped"]["pass_ms"]
    return [100 * (ms / overlapped - 1)
            for ms in (variants[0]["median_ms"], found["plain"]["pass_ms"])]


def draw_panel(axis, key, points):
    places = [value for value, _ in points]
    for (label, colour, marker, dashes), values in zip(LINES, zip(*(both for _, both in points))):
        axis.plot(places, values, dashes, marker=marker, color=colour, linewidth=2, markersize=7,
                  label=label)
    axis.axhline(0, color="black", linewidth=1)
    axis.set_xscale("log", base=2)
    axis.set_xticks(places, [f"{place:,}" for place in places], rotation=60, fontsize=11.5)
    axis.minorticks_off()
    axis.set_xlabel(AXES[key])
    axis.grid(axis="y", color="#dddddd")
    axis.set_ylim(bottom=min(0, 1.1 * min(value for _, both in points for value in both)))
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


@matplotlib.rc_context(FONT)
def draw(folders, labels, note):
    """The figure of the runs in `folders`, of which each label is (key, value)."""
    panels = {}
    for folder, (key, value) in zip(folders, labels):
        panels.setdefault(key, []).append((value, gains(folder)))
    figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, 5.2), squeeze=False,
                                layout="constrained")
    for axis, (key, points) in zip(axes[0], panels.items()):
        draw_panel(axis, key, points)
    axes[0, 0].set_ylabel("overlap is faster by, %")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=len(LINES),
                  frameon=False)
    source = source_of(read_json(folders[0] / "environment.json"))
    figure.supxlabel("\n".join(filter(None, [note, source])), x=0.01, ha="left", fontsize=10.5,
                     color="#555555")
    return figure


def point(text):
    key, _, value = text.partition("=")
    if key not in AXES:
        raise argparse.ArgumentTypeError(f"no key of {', '.join(AXES)}: '{text}'")
    return key, int(value)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run's folder")
    parser.add_argument("--out", required=True, metavar="FILE_STEM")
    parser.add_argument("--labels", nargs="+", type=point, required=True, metavar="KEY=VALUE",
                        help="one for each run")
    parser.add_argument("--note", help="what all runs have in common")
    options = parser.parse_args(arguments)
    if len(options.labels) != len(options.runs):
        parser.error(f"{len(options.labels)} labels for {len(options.runs)} runs")
    try:
        figure = draw(options.runs, options.labels, options.note)
    except RunError as error:
        parser.exit(1, f"gain.py: {error}\n")
    save(figure, options.out)


if __name__ == "__main__":
    main()
