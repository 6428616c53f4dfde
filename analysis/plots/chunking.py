"""What a chunk size costs: a long prompt's time to first token, and the longest that those who decode
meanwhile wait for their next token, over runs that differ in scheduler.chunk_tokens.

    python analysis/plots/chunking.py RUN... --labels TOKENS... --out FILE_STEM

The long prompt is the last request of each run. A label is the run's chunk size. Writes
FILE_STEM.png and FILE_STEM.svg.
"""

import argparse
import csv
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import RunError, source_of  # noqa: E402
from style import FONT, WIDTH, save  # noqa: E402

BLUE, ORANGE = "#0072B2", "#D55E00"


def rows(folder, table):
    try:
        with open(folder / table, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise RunError(f"{folder / table}: {error.strerror}") from error


def times_ms(folder):
    """Of the last request, the time to its first token; and the longest step in that time, which is
    what a request that decodes in every step waits for a token."""
    long = rows(folder, "requests.csv")[-1]
    arrival = float(long["arrival_ms"])
    done = [float(step["done_ms"]) for step in rows(folder, "steps.csv")][:int(long["first_step"]) + 1]
    gaps = [after - before for before, after in zip(done, done[1:]) if after > arrival]
    return float(long["ttft_ms"]), max(gaps)


def undisturbed_ms(folder):
    """The step that ended last before the long prompt came."""
    arrival = float(rows(folder, "requests.csv")[-1]["arrival_ms"])
    done = [float(step["done_ms"]) for step in rows(folder, "steps.csv")]
    before = [time for time in done if time <= arrival]
    return before[-1] - before[-2]


def source(folder):
    return source_of(json.loads((folder / "environment.json").read_text(encoding="utf-8")))


@matplotlib.rc_context(FONT)
def draw(folders, chunks):
    """The figure of the runs in `folders`, whose chunk sizes are `chunks`."""
    measured = [times_ms(folder) for folder in folders]
    figure, axes = plt.subplots(2, 1, figsize=(WIDTH, 7.4), sharex=True, layout="constrained")
    requests = rows(folders[0], "requests.csv")
    prompt, others = requests[-1]["prompt_tokens"], len(requests) - 1
    figure.suptitle(f"A prompt of {int(prompt):,} tokens comes while {others} requests decode")
    panels = [("time to its first token", BLUE, "o", 0),
              ("longest gap between two tokens of the others", ORANGE, "s", 1)]
    for axis, (title, colour, marker, which) in zip(axes, panels):
        values = [pair[which] for pair in measured]
        axis.plot(chunks, values, marker=marker, color=colour, linewidth=2, markersize=8)
        for chunk, value in zip(chunks, values):
            axis.annotate(f"{value:.0f}", (chunk, value), xytext=(0, 9), textcoords="offset points",
                          ha="center")
        axis.set_title(title, loc="left")
        axis.set_ylabel("ms")
        axis.set_ylim(0, max(values) * 1.22)
        axis.grid(axis="y", color="#dddddd")
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    calm = undisturbed_ms(folders[0])
    axes[1].axhline(calm, color="#555555", linestyle="--", linewidth=1.2)
    axes[1].annotate(f"{calm:.1f} ms: no prompt", (chunks[-1], calm), xytext=(0, 5),
                     textcoords="offset points", ha="right", color="#555555")
    axes[1].set_xscale("log", base=2)
    axes[1].set_xticks(chunks, [f"{chunk:,}" for chunk in chunks])
    axes[1].minorticks_off()
    axes[1].set_xlabel("chunk: most tokens of the prompt in a step (scheduler.chunk_tokens)")
    figure.supxlabel(source(folders[0]), x=0.01, ha="left", fontsize=10.5, color="#555555")
    return figure


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run's folder")
    parser.add_argument("--out", required=True, metavar="FILE_STEM")
    parser.add_argument("--labels", nargs="+", type=int, required=True, metavar="TOKENS",
                        help="one chunk size for each run")
    options = parser.parse_args(arguments)
    if len(options.labels) != len(options.runs):
        parser.error(f"{len(options.labels)} labels for {len(options.runs)} runs")
    try:
        figure = draw(options.runs, options.labels)
    except RunError as error:
        parser.exit(1, f"chunking.py: {error}\n")
    save(figure, options.out)


if __name__ == "__main__":
    main()
