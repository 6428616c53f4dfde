"""One pass of each variant of a Ulysses run, at rank 0: what it scatters, computes and gathers when.

    python analysis/plots/passes.py RUN --labels TEXT... --out FILE_STEM [--note TEXT]

A panel for each variant, with lanes for scatters, attention and gathers; in columns by transport. Of a
scatter or gather the upper half goes to the other ranks, the lower half stays on the device: a rank's
own part, or rows that are packed or merged. Writes FILE_STEM.png and FILE_STEM.svg.
"""

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Patch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import RunError, read, source_of  # noqa: E402
from style import FONT, WIDTH, bare, save  # noqa: E402

# Okabe and Ito's colours.
COLOURS = {"scatter": "#56B4E9", "attention": "#009E73", "gather": "#D55E00"}
LANES = ["scatter", "attention", "gather"]
TRANSPORTS = {"peer": "peer: copy engines", "nccl": "nccl: pack, exchange and merge kernels"}


@dataclass
class Pass:
    """Of a variant at rank 0: pieces are (lane, to other ranks, start, end), in ms of the pass."""

    variant: dict
    pieces: list


def last_steps(folder):
    """By variant: its last step."""
    try:
        with open(folder / "samples.csv", encoding="utf-8", newline="") as file:
            return {row["variant"]: int(row["step"]) for row in csv.DictReader(file)}
    except OSError as error:
        raise RunError(f"{folder / 'samples.csv'}: {error.strerror}") from error


def passes(folder):
    """Those of the run in `folder`, and where its times come from."""
    timeline, metrics, environment = read(folder)
    if "ulysses" not in metrics:
        raise RunError(f"{folder}: not a run of the Ulysses program")
    names, kinds = timeline["names"], timeline["operation_kinds"]
    columns = timeline["operations"]
    by_step = {}
    for name, kind, host, step, start, end in zip(
            *(columns[key] for key in ("name", "kind", "host", "step", "start", "end"))):
        if host == 0 and step >= 0:
            by_step.setdefault(step, []).append((names[name], kinds[kind], start, end))
    steps = last_steps(folder)
    found = []
    for variant in metrics["ulysses"]["variants"]:
        operations = by_step[steps[variant["name"]]]
        begin = next(end for name, _, _, end in operations if name == "pass_begin")
        pieces = []
        for name, kind, start, end in operations:
            lane = name.partition("_")[0]
            if lane in COLOURS:
                links = kind == "peer" or name.endswith("_exchange")
                pieces.append((lane, links, (start - begin) * 1e-6, (end - begin) * 1e-6))
        found.append(Pass(variant, pieces))
    return found, source_of(environment)


def draw_pass(axis, one, title):
    for lane, links, start, end in one.pieces:
        middle = LANES.index(lane)
        low, height = (middle - 0.4, 0.8) if lane == "attention" else (
            (middle - 0.4, 0.4) if links else (middle, 0.4))
        axis.broken_barh([(start, end - start)], (low, height), facecolor=COLOURS[lane],
                         edgecolor="black", linewidth=0.4, hatch=None if links or lane == "attention"
                         else "////")
    median = one.variant["median_ms"]
    axis.axvline(median, color="black", linewidth=1.2)
    axis.text(median, -0.62, f"{median:.3f} ms", ha="right", va="bottom", fontsize=12)
    axis.set_title(title, loc="left", fontsize=13, pad=4)
    axis.set_ylim(2.6, -0.6)
    axis.set_yticks(range(len(LANES)), LANES)
    bare(axis)


@matplotlib.rc_context(FONT)
def draw(folder, labels, note):
    found, source = passes(folder)
    if len(labels) != len(found):
        raise RunError(f"{folder}: {len(labels)} labels for {len(found)} variants")
    columns = [[(one, label) for one, label in zip(found, labels)
                if one.variant["transport"] == transport] for transport in TRANSPORTS]
    rows = max(map(len, columns))
    figure, axes = plt.subplots(rows, 2, figsize=(WIDTH, 1.0 + 1.45 * rows), sharex=True, sharey=True,
                                squeeze=False, layout="constrained")
    for at, column in enumerate(columns):
        for axis, (one, label) in zip(axes[:, at], column):
            draw_pass(axis, one, f"{label}, {one.variant['transport']}")
        for axis in axes[len(column):, at]:
            axis.axis("off")
        axes[-1, at].set_xlabel(f"ms ({list(TRANSPORTS.values())[at]})")
    axes[0, 0].set_xlim(0, 1.02 * max(one.variant["median_ms"] for one in found))
    keys = [Patch(facecolor=COLOURS["scatter"], edgecolor="black", label="scatter"),
            Patch(facecolor=COLOURS["attention"], edgecolor="black", label="attention"),
            Patch(facecolor=COLOURS["gather"], edgecolor="black", label="gather"),
            Patch(facecolor="white", edgecolor="black", label="to the other rank"),
            Patch(facecolor="white", edgecolor="black", hatch="////",
                  label="within the device: own part, pack, merge")]
    figure.legend(handles=keys, loc="outside upper left", ncols=len(keys), frameon=False, fontsize=12,
                  columnspacing=1.2, handlelength=1.5, handletextpad=0.5)
    figure.supxlabel("\n".join(filter(None, [note, source])), x=0.01, ha="left", fontsize=10.5, color="#555555")
    return figure


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
    parser.add_argument("--out", required=True, metavar="FILE_STEM")
    parser.add_argument("--labels", nargs="+", required=True, metavar="TEXT",
                        help="one for each variant, in their order")
    parser.add_argument("--note", help="what the variants have in common")
    options = parser.parse_args(arguments)
    try:
        figure = draw(options.run, options.labels, options.note)
    except RunError as error:
        parser.exit(1, f"passes.py: {error}\n")
    save(figure, options.out)


if __name__ == "__main__":
    main()
