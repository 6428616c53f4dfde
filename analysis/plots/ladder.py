"""The ladder as bars: a step's time on each rung, for each workload that scripts/bench-gpu measured.

    python analysis/plots/ladder.py BENCH_JSON --out FILE_STEM [--workloads NAME...]

A bar is the median over the rounds of the runs' median step; its whisker spans the rounds. Each
panel has the first rung's step as 100 %. Writes FILE_STEM.png and FILE_STEM.svg.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).resolve().parent))
from style import FONT, WIDTH, bare, save  # noqa: E402

GRAPHS, EAGER, MISTAKE = "#2b6cb0", "#8fb8de", "#e0a526"
KINDS = {GRAPHS: "with CUDA graphs", EAGER: "without", MISTAKE: "with CUDA graphs and a mistake"}


def colour_of(rung):
    if "pageable" in rung or "default stream" in rung:
        return MISTAKE
    return GRAPHS if "graphs" in rung else EAGER


def panels(bench, names):
    """By workload: rung -> the step times of its rounds, in the order they were measured first."""
    found = {}
    for run in bench["runs"]:
        if names and run["workload"] not in names:
            continue
        rungs = found.setdefault(run["workload"], {})
        rungs.setdefault(run["rung"], []).append(run["metrics"]["step_time_ms"]["p50"])
    missing = [name for name in names or [] if name not in found]
    if missing:
        sys.exit(f"ladder: no workload {', '.join(missing)}; there are {', '.join(found)}")
    return found


def draw_panel(axis, workload, rungs):
    first = statistics.median(next(iter(rungs.values())))
    for place, (rung, times) in enumerate(rungs.items()):
        middle = statistics.median(times)
        axis.barh(place, middle, color=colour_of(rung), height=0.7)
        axis.plot([min(times), max(times)], [place, place], color="black", linewidth=1.5)
        axis.text(middle * 1.01, place, f" {middle:.3f} ms ({100 * middle / first:.0f} %)",
                  va="center", fontsize=12)
    axis.set_yticks(range(len(rungs)), rungs)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.3 * max(max(times) for times in rungs.values()))
    axis.set_title(workload, loc="left")
    bare(axis)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", type=Path)
    parser.add_argument("--out", required=True)
    parser.add_argument("--workloads", nargs="*")
    arguments = parser.parse_args()
    bench = json.loads(arguments.bench.read_text())
    found = panels(bench, arguments.workloads)

    plt.rcParams.update(FONT)
    heights = [len(rungs) for rungs in found.values()]
    figure, axes = plt.subplots(len(found), 1, figsize=(WIDTH, 1.4 + sum(0.42 * h + 0.7 for h in heights)),
                                squeeze=False, gridspec_kw={"height_ratios": heights},
                                layout="constrained")
    for axis, (workload, rungs) in zip(axes[:, 0], found.items()):
        draw_panel(axis, workload, rungs)
    axes[-1, 0].set_xlabel("median step, ms")
    used = {colour_of(rung) for rungs in found.values() for rung in rungs}
    figure.legend(handles=[plt.Rectangle((0, 0), 1, 1, color=c) for c in KINDS if c in used],
                  labels=[KINDS[c] for c in KINDS if c in used], loc="outside upper center", ncols=3)
    rounds = max(run["round"] for run in bench["runs"]) + 1
    gpu = bench["environment"]["gpu"]["name"]
    figure.supxlabel(f"Measured on one {gpu}, {bench['date'][:10]}, {rounds} rounds in rotated order "
                     "(scripts/bench-gpu)", x=0.01, ha="left", fontsize=10.5, color="#555555")
    save(figure, arguments.out)


if __name__ == "__main__":
    main()
