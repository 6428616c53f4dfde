"""Requests written out one by one: who is refused, who is served, and when."""

import csv
import itertools
import json
import subprocess

import pytest
from program import PROGRAM, ROOT, needs_program

pytestmark = needs_program

MIXED = ROOT / "configs" / "serving" / "mixed.yaml"

HEAD = """program: batching
runtime: {kind: sim, profile: h200}
model: {kind: hash, vocab: 50, max_positions: 200}
strategy: {kind: async}
limits: {rows: 4, tokens: 8, page_tokens: 4, pages: 10}
requests:
"""
LISTED_FROM = HEAD.count("\n") + 1  # the line of the first request

REFUSED = {
    "{prompt_tokens: -3, max_new_tokens: 5}": "has an empty prompt",
    "{prompt: [], max_new_tokens: 5}": "has an empty prompt",
    "{prompt: [1], max_new_tokens: -5}": "asks for no token",
    "{prompt: [1, 50], max_new_tokens: 5}": "has the prompt id 50, outside the vocabulary of 50",
    "{prompt: [-1], max_new_tokens: 5}": "has the prompt id -1, outside the vocabulary of 50",
    "{prompt: [1], max_new_tokens: 5, eos: 50}":
        "has the EOS id 50, outside the vocabulary of 50",
    "{prompt: [1], max_new_tokens: 5, stop: [[1], [2, 99]]}":
        "has the stop id 99, outside the vocabulary of 50",
    "{prompt: [1], max_new_tokens: 5, stop: [[]]}": "has an empty stop sequence",
    # 41 entries, and 10 pages of 4.
    "{prompt: [1], max_new_tokens: 41}": "needs 11 KV pages at its end; ",
    "{prompt: [1], max_new_tokens: 200}": "takes 201 tokens; the model has 200 positions",
    "{prompt: [1], max_new_tokens: 5, id: 7}":
        "has the id 7 of request 0, which is still being served",
}
GOOD_FIRST = "{prompt: [1, 2], max_new_tokens: 20, id: 7}"
GOOD_LAST = "{prompt_tokens: 18, max_new_tokens: 9}"  # a prompt longer than a step's tokens


def run(tmp_path, lines, *arguments):
    file = tmp_path / "requests.yaml"
    file.write_text(HEAD + "".join(f"  - {line}\n" for line in lines))
    done = subprocess.run([PROGRAM, "run", file, "--out", tmp_path / "run", "--force", *arguments],
                          capture_output=True, text=True, timeout=120)
    rows = []
    if done.returncode == 0:
        with open(tmp_path / "run" / "requests.csv", newline="") as table:
            rows = list(csv.DictReader(table))
    return done, rows


@pytest.mark.parametrize("runtime", ["sim", "cpu"])
def test_each_bad_request_is_refused_with_its_place_and_the_rest_is_served(tmp_path, runtime):
    done, rows = run(tmp_path, [GOOD_FIRST, *REFUSED, GOOD_LAST], "--runtime", runtime)
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert len(said) == len(REFUSED)
    for i, (line, why) in enumerate(zip(said, REFUSED.values()), start=1):
        assert f"requests.yaml:{LISTED_FROM + i}:5: requests[{i}]: refused: it {why}" in line
    assert [row["finish"] for row in rows] == ["length", *["refused"] * len(REFUSED), "length"]
    assert [row["new_tokens"] for row in rows] == ["20", *["0"] * len(REFUSED), "9"]


def test_times_count_from_the_arrival(tmp_path):
    lines = ["{prompt: [1, 2], max_new_tokens: 3}",
             "{prompt: [1, 2], max_new_tokens: 3, arrival_ms: 500}"]
    _, rows = run(tmp_path, lines)
    first, second = rows
    # The device is idle when the second comes: both see the same machine.
    assert float(second["arrival_ms"]) == 500
    assert float(second["ttft_ms"]) == pytest.approx(float(first["ttft_ms"]), abs=0.05)


def test_a_client_that_gives_up_keeps_what_it_got(tmp_path):
    lines = ["{prompt: [1, 2], max_new_tokens: 30, cancel_tokens: 4}",
             "{prompt: [1, 2], max_new_tokens: 30, cancel_ms: 0}",
             "{prompt: [3], max_new_tokens: 2, arrival_ms: 1}"]
    _, rows = run(tmp_path, lines)
    assert [row["finish"] for row in rows] == ["cancelled", "cancelled", "length"]
    assert rows[0]["new_tokens"] == "4"


def test_priorities_decide_who_goes_first(tmp_path):
    lines = ["{prompt: [1, 2], max_new_tokens: 3}", "{prompt: [1, 2], max_new_tokens: 3}",
             "{prompt: [1, 2], max_new_tokens: 3, priority: 1}"]
    _, rows = run(tmp_path, lines, "--set", "limits.rows=1")
    starts = [int(row["first_step"]) for row in rows]
    assert sorted(range(3), key=starts.__getitem__) == [2, 0, 1]


def test_everything_at_once_gives_the_same_tokens_on_every_runtime_and_strategy(tmp_path):
    digests = set()
    for runtime, strategy, slots, policy in itertools.product(
            ("sim", "cpu"), ("default_stream", "ordered", "async"), (1, 2, 4),
            ("decode_first", "prefill_first")):
        if (slots == 1) == (strategy == "async"):
            continue
        subprocess.run([PROGRAM, "run", MIXED, "--runtime", runtime, "--out", tmp_path / "run",
                        "--force", "--set", f"strategy.kind={strategy}", "--set",
                        f"strategy.slots={slots}", "--set", f"scheduler.policy={policy}"],
                       check=True, capture_output=True, timeout=120)
        figures = json.loads((tmp_path / "run" / "metrics.json").read_text())
        assert figures["races"] == 0
        assert figures["batching"]["preemptions"] > 0
        digests.add(figures["tokens_digest"])
    assert len(digests) == 1
