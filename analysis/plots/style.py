"""What the figures share: sizes, units, and the line that says where the figures come from."""

import textwrap

WIDTH = 11.0  # inches
FONT = {"font.size": 13, "axes.titlesize": 15}  # readable at half size


def unit_of(seconds):
    if seconds >= 2:
        return 1.0, "s"
    return (1e3, "ms") if seconds >= 2e-3 else (1e6, "µs")


def format_time(seconds, like=None):
    """In the unit of `like`, or in its own."""
    scale, unit = unit_of(like or seconds)
    return f"{seconds * scale:.4g} {unit}"


def bare(axis):
    """Leaves the time axis alone."""
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)


def add_sources(figure, runs, note=""):
    """Below the figure: where the runs' times come from, each source once."""
    labels = {}
    for run in runs:
        labels.setdefault(run.source, []).append(run.label)
    lines = [source if len(labels) == 1 else f"{', '.join(labels[source])}: {source}"
             for source in labels]
    text = "\n".join(textwrap.fill(line, 140) for line in [*lines, note] if line)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=10.5, color="#555555")


def save(figure, stem):
    """Writes STEM.png and STEM.svg."""
    figure.savefig(f"{stem}.png", dpi=120)
    figure.savefig(f"{stem}.svg")
