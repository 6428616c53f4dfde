"""The figure of streams: what it draws is what the timeline says, and every figure is made."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis" / "plots"))
pytest.importorskip("matplotlib")
import matplotlib.image  # noqa: E402
import chunking  # noqa: E402
import gain  # noqa: E402
import lanes as streams  # noqa: E402
import passes  # noqa: E402
import run as runs  # noqa: E402
import timeline as plot  # noqa: E402
from lanes import Arrow, Piece  # noqa: E402

PROGRAM = os.environ.get("SYNCOPATE_PROGRAM", "")
KINDS = ["kernel", "h2d", "d2h", "d2d", "peer", "graph", "graph_node", "host_span", "host_block"]
CALLS = ["enqueue", "record", "wait", "signal", "wait_flag", "block", "seen", "span"]


class Made:
    """A timeline made by hand, as timeline.json has it."""

    def __init__(self):
        self.names = []
        self.operations = []
        self.calls = []

    def name(self, text):
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text)

    def operation(self, kind, name, step, stream, start, end, issued=(0, 0), host=0):
        self.operations.append({
            "name": self.name(name), "kind": KINDS.index(kind), "host": host, "stream": stream,
            "step": step, "issue_begin": issued[0], "issue_end": issued[1], "start": start,
            "end": end})
        return len(self.operations) - 1

    def call(self, kind, operation=2**32 - 1, site="", at=(-1, 0), target=(-1, 0)):
        self.calls.append({
            "type": CALLS.index(kind), "host": 0, "operation": operation, "site": self.name(site),
            "at_stream": at[0], "at_sequence": at[1], "target_stream": target[0],
            "target_sequence": target[1]})

    def json(self):
        def columns(rows):
            return {key: [row[key] for row in rows] for key in rows[0]}
        return {"operation_kinds": KINDS, "call_types": CALLS, "names": self.names,
                "streams": {"label": ["capture", "compute", "d2h", "h2d", "h2d"],
                            "device": [0, 0, 0, 0, 1]},
                "operations": columns(self.operations), "calls": columns(self.calls)}


def one_ordered_step():
    """prepare, h2d, a graph of carry and forward that waits for it, d2h that waits for the graph,
    the host's block on that, update; and a copy on another device."""
    made = Made()
    made.call("span", made.operation("host_span", "prepare", 7, -1, 0, 20))
    h2d = made.operation("h2d", "h2d", 7, 3, 25, 45, issued=(20, 25))
    made.call("enqueue", h2d, at=(3, 1))
    made.call("record", site="h2d.record", at=(3, 1))
    made.call("wait", site="compute.wait", at=(1, 1), target=(3, 1))
    graph = made.operation("graph", "step", 7, 1, 45, 100, issued=(25, 30))
    made.operation("graph_node", "carry", 7, 1, 48, 55)
    made.operation("graph_node", "forward", 7, 1, 56, 100)
    made.call("enqueue", graph, at=(1, 2))
    made.call("record", site="compute.record", at=(1, 2))
    made.call("wait", site="d2h.wait", at=(2, 1), target=(1, 2))
    made.call("enqueue", made.operation("d2h", "d2h", 7, 2, 100, 110, issued=(30, 35)), at=(2, 2))
    made.call("record", site="d2h.record", at=(2, 2))
    block = made.operation("host_block", "block", 7, -1, 35, 112)
    made.call("block", block, site="host.block", target=(2, 2))
    made.call("span", made.operation("host_span", "update", 7, -1, 112, 120))
    made.operation("h2d", "h2d", 7, 4, 1, 2, host=1)
    return made


def test_a_step_becomes_lanes_in_the_order_of_its_way():
    lane_list, arrows = streams.lanes(one_ordered_step().json())
    assert [(lane.label, lane.pieces) for lane in lane_list] == [
        ("host", [Piece("span", "prepare", 7, 0, 20), Piece("call", "h2d", 7, 20, 25),
                  Piece("call", "step", 7, 25, 30), Piece("call", "d2h", 7, 30, 35),
                  Piece("block", "block", 7, 35, 112), Piece("span", "update", 7, 112, 120)]),
        ("h2d", [Piece("h2d", "h2d", 7, 25, 45)]),
        # The wait was called after the copy's call was over.
        ("compute", [Piece("wait", "compute.wait", -1, 25, 45), Piece("carry", "carry", 7, 48, 55),
                     Piece("compute", "forward", 7, 56, 100)]),
        ("d2h", [Piece("wait", "d2h.wait", -1, 30, 100), Piece("d2h", "d2h", 7, 100, 110)]),
    ]
    assert arrows == [Arrow(1, 2, 45, 45), Arrow(2, 3, 100, 100), Arrow(3, 0, 110, 112)]
    assert streams.too_early(lane_list) == []
    assert streams.window(lane_list, 7, 7) == (0, 120)
    assert streams.window(lane_list, 8, 9) is None


def test_a_wait_for_what_has_happened_holds_nothing():
    made = Made()
    made.call("enqueue", made.operation("h2d", "h2d", 0, 3, 0, 10, issued=(0, 0)), at=(3, 1))
    made.call("span", made.operation("host_span", "prepare", 0, -1, 0, 30))
    made.call("wait", site="w", at=(1, 1), target=(3, 1))
    made.call("wait", site="never recorded", at=(1, 1), target=(3, 0))
    made.call("enqueue", made.operation("kernel", "k", 0, 1, 31, 40, issued=(30, 30)), at=(1, 2))
    lane_list, arrows = streams.lanes(made.json())
    assert lane_list[2].pieces == [Piece("compute", "k", 0, 31, 40)]
    assert arrows == [Arrow(1, 2, 10, 30)]


def test_a_graph_stays_whole_where_its_nodes_have_no_times_or_overlap():
    for times in [(-1, -1), (2, 6)]:
        made = Made()
        made.call("enqueue", made.operation("graph", "g", 0, 1, 0, 10), at=(1, 1))
        made.operation("graph_node", "a", 0, 1, 0, 5)
        made.operation("graph_node", "b", 0, 1, *times)
        lane_list, _ = streams.lanes(made.json())
        assert lane_list[1].pieces == [Piece("compute", "g", 0, 0, 10)]


def test_work_that_begins_before_its_input_is_there_is_found():
    made = Made()
    for step, at in [(0, 0), (1, 100)]:
        made.operation("h2d", "h2d", step, 3, at, at + 10)
        # Step 0 reads its inputs too early, step 1 copies its outputs too early.
        made.operation("kernel", "k", step, 1, at + 5 + 10 * step, at + 30)
        made.operation("d2h", "d2h", step, 2, at + 30 - step, at + 40)
    made.call("enqueue", 0, at=(3, 1))
    assert streams.too_early(streams.lanes(made.json())[0]) == [(2, 5), (3, 129)]


def test_the_steps_shown_come_from_the_middle():
    assert runs.middle_steps([-1, *range(10), 4], 3) == (3, 5)
    assert runs.middle_steps([0, 0, 1], 3) == (0, 1)
    assert runs.middle_steps([-1], 3) is None


def test_a_source_says_what_the_times_are_of():
    profile = {"name": "post", "about": "an 8B model"}
    assert (runs.source_of({"runtime": "sim", "profile": profile})
            == "simulated with profile post: an 8B model")
    assert runs.source_of({"runtime": "cpu", "processor": "EPYC"}) == "measured on cpu, EPYC"
    assert (runs.source_of({"runtime": "cuda", "processor": "EPYC", "gpu": {"name": "H200"}})
            == "measured on cuda, H200")


CHAIN = {("h2d", "compute"), ("compute", "d2h"), ("d2h", "host")}

needs_program = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="no built program")


@pytest.fixture(scope="module")
def made_figures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    done = subprocess.run([ROOT / "scripts" / "figures", "--program", PROGRAM, "--out", folder,
                           "--work", folder / "work"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@needs_program
def test_the_figures_that_are_kept_are_those_that_are_made(made_figures):
    kept = {file.name for file in (ROOT / "docs" / "figures").glob("*.png")}
    assert {file.name for file in made_figures.glob("*.png")} == kept - {"demo_activity.png"}


@needs_program
@pytest.mark.parametrize("name, lanes", [
    ("post_activity", None),
    ("chunked_prefill", None),
    ("host_speed", None),
    ("ulysses_passes", None),
    ("ulysses_gain", None),
    ("launch_overhead", ["host", "h2d", "compute", "d2h"]),
    ("default_stream", ["host", "default"]),
    ("unordered", ["host", "h2d", "compute", "d2h"]),
    ("ordered", ["host", "h2d", "compute", "d2h"]),
    ("async", ["host", "h2d", "compute", "d2h"]),
])
def test_a_figure_is_not_blank_and_has_its_lanes(made_figures, name, lanes):
    pixels = matplotlib.image.imread(made_figures / f"{name}.png")[..., :3]
    codes = (pixels * 255).round().astype(int) @ [1 << 16, 1 << 8, 1]
    colours, counts = np.unique(codes, return_counts=True)
    large = [tuple(int(code).to_bytes(3)) for code in colours[counts > 200]]
    hues = [colour for colour in large if max(colour) - min(colour) > 40]
    assert len(hues) >= (2 if lanes is None else 4), large
    for folder in (made_figures / "work" / name).iterdir():
        if lanes is not None and folder.is_dir():
            assert [lane.label for lane in plot.load(folder).lanes] == lanes


@needs_program
def test_the_drawings_show_what_they_are_about(made_figures):
    def drawn(name):
        (folder,) = (f for f in (made_figures / "work" / name).iterdir() if f.is_dir())
        return plot.load(folder)

    for name in ("default_stream", "ordered", "async"):
        assert drawn(name).races == 0
        assert streams.too_early(drawn(name).lanes) == []
    racy = drawn("unordered")
    assert racy.races > 0 and plot.marks(racy)
    for name, arrows in (("default_stream", {("default", "host")}), ("unordered", set()),
                         ("ordered", CHAIN), ("async", CHAIN)):
        labels = [lane.label for lane in drawn(name).lanes]
        assert {(labels[a.source], labels[a.target]) for a in drawn(name).arrows} == arrows
    kinds = {piece.kind for lane in drawn("async").lanes for piece in lane.pieces}
    assert {"span", "call", "block", "wait", "h2d", "carry", "compute", "d2h"} == kinds


@needs_program
def test_larger_chunks_trade_others_gaps_for_the_prompts_first_token(made_figures):
    work = made_figures / "work" / "chunked_prefill"
    runs = sorted(work.iterdir(), key=lambda folder: int(folder.name.split("=")[1]))
    first_tokens, gaps = zip(*map(chunking.times_ms, runs))
    assert list(first_tokens) == sorted(first_tokens, reverse=True)
    assert list(gaps) == sorted(gaps)
    # The step with all of the prompt, from the profile's terms: 31 rows decode 31 tokens more.
    tokens, pairs = 8192 + 31, 8192 * 8193 / 2
    at_least = (4808 + 18.7 * tokens + 1.9e-3 * pairs) / 1e3
    assert at_least < gaps[-1] < 1.05 * at_least


# Copies leave the next attention nothing to wait for. Kernels come in between two attentions, for as
# long as an exchange takes at least: 7 heads of Q, K and V of 4,096 tokens, 22 MB, more for 14.
@needs_program
def test_attention_waits_between_bands_for_kernels_and_not_for_copies(made_figures):
    (folder,) = (made_figures / "work" / "ulysses_passes").iterdir()
    found, _ = passes.passes(folder)
    overlapped = {one.variant["transport"]: one for one in found
                  if one.variant["strategy"] == "chunk_overlap"}
    for transport, least, most in (("peer", 0, 0.001), ("nccl", 0.032 + 22 * 3.47e-3, 0.5)):
        attention = [(start, end) for lane, _, start, end in overlapped[transport].pieces
                     if lane == "attention"]
        assert len(attention) == 3
        for (_, end), (start, _) in zip(attention, attention[1:]):
            assert least <= start - end <= most, transport


# At best all that crosses the link is hidden. What is sent: Q, K, V and the output, half of each.
@needs_program
def test_gains_are_those_of_hidden_copies(made_figures):
    work = made_figures / "work" / "ulysses_gain"
    by_link = {int(folder.name.removeprefix("link_").removesuffix(".yaml")): gain.gains(folder)
               for folder in work.glob("link_*.yaml")}
    links = sorted(by_link)
    assert len(links) == 6
    for which in (0, 1):
        in_order = [by_link[link][which] for link in links]
        assert in_order == sorted(in_order, reverse=True)
    sent = 2 * (37760 / 2) * 56 * 128 * 2  # bytes
    for link in links:
        at_best = 100 * sent / (link * 1e9) / 33.69e-3  # of an attention of 33.69 ms
        assert 0.5 * at_best < by_link[link][1] <= by_link[link][0] < 1.02 * at_best


def test_what_is_no_point_of_a_gain_is_refused(tmp_path, capsys):
    for label, says in (("width=3", "no key of tokens, heads, link"), ("heads=8", "metrics.json")):
        with pytest.raises(SystemExit):
            gain.main([str(tmp_path), "--labels", label, "--out", str(tmp_path / "figure")])
        assert says in capsys.readouterr().err


@needs_program
def test_a_slower_host_costs_an_asynchronous_step_nothing_until_it_is_the_slower(made_figures):
    with open(made_figures / "work" / "host_speed" / "sweep" / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    steps = {"ordered": {}, "async": {}}
    for row in rows:
        extra = float(row["host.extra_us"]) / 1e3
        steps[row["strategy.kind"]][extra] = (float(row["step_mean_ms"]),
                                              float(row["host_per_step_mean_us"]) / 1e3)
    first, _ = steps["ordered"][0]
    assert all(step == pytest.approx(first + extra, abs=0.01)
               for extra, (step, _) in steps["ordered"].items())
    device, _ = steps["async"][0]
    assert all(step == pytest.approx(max(device, host), abs=0.1)
               for step, host in steps["async"].values())
    assert {host > device for _, host in steps["async"].values()} == {True, False}


@needs_program
def test_steps_that_are_not_there_are_an_error(made_figures, capsys):
    run = made_figures / "work" / "ordered" / "ordered"
    with pytest.raises(SystemExit) as exit_info:
        plot.main([str(run), "--steps", "900", "901"])
    assert exit_info.value.code == 1
    assert "no operation in steps 900 to 901" in capsys.readouterr().err
