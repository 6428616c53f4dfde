"""The command line: exit statuses, what is written and what is not, and the post's figures."""

import fcntl
import itertools
import json
import os
import pty
import resource
import signal
import struct
import subprocess
import termios

import pytest
from program import PROGRAM, ROOT, SMALL, needs_program

POST = ROOT / "configs" / "post"

pytestmark = needs_program

FILES = {"config.yaml", "profile.yaml", "environment.json", "metrics.json", "steps.csv",
         "requests.csv"}

HASH = "{kind: hash, vocab: 64}"
LLAMA = ("{kind: llama, shape: {vocab: 64, hidden: 24, layers: 2, heads: 2, kv_heads: 1, "
         "head_dim: 8, intermediate: 40}}")


def models_of_this_build():
    listed = subprocess.run([PROGRAM, "list"], capture_output=True, text=True).stdout
    llama = next(line for line in listed.splitlines() if line.startswith("  llama "))
    return [HASH] if "not available" in llama else [HASH, LLAMA]


def syncopate(*arguments, cwd, **environment):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
                          timeout=120, env=os.environ | environment)


def syncopate_on_a_terminal(*arguments, cwd, columns, **environment):
    """What it prints there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    program = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=cwd, stdout=theirs,
                               env=os.environ | environment)
    os.close(theirs)
    output = b""
    try:
        while read := os.read(ours, 1 << 16):
            output += read
    except OSError:  # what Linux says when the other side is closed
        pass
    os.close(ours)
    assert program.wait(timeout=120) == 0
    return output.decode().replace("\r\n", "\n")


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())


def test_a_run_leaves_a_whole_folder(tmp_path, small):
    done = syncopate("run", small, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    folder = tmp_path / "runs" / tmp_path.name / "small-sim"
    assert {f.name for f in folder.iterdir()} == FILES | {"timeline.json"}
    assert [f.name for f in folder.parent.iterdir()] == ["small-sim"]
    m = metrics(folder)
    assert m["races"] == 0
    assert len(m["tokens_digest"]) == 16
    lines = (folder / "requests.csv").read_text().splitlines()
    assert len(lines) == 1 + 6
    assert m["tokens"] == sum(int(line.split(",")[2]) for line in lines[1:])
    assert len((folder / "steps.csv").read_text().splitlines()) == 1 + m["steps"]
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["seeds"]["requests"] == 4
    assert environment["profile"]["name"] == "h200"
    assert "NVIDIA H200" in environment["profile"]["about"]
    assert "\x1b" not in done.stdout, "no colours where there is no terminal"


def test_tokens_are_written_when_asked_for(tmp_path, small):
    done = syncopate("run", small, "--out", "a", "--set", "output.tokens=true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tokens = json.loads((tmp_path / "a" / "tokens.json").read_text())
    lines = (tmp_path / "a" / "requests.csv").read_text().splitlines()[1:]
    assert [len(ids) for ids in tokens] == [int(line.split(",")[2]) for line in lines]
    assert all(0 <= id < 64 for ids in tokens for id in ids)


def test_the_folder_s_config_runs_the_same_again(tmp_path, small):
    assert syncopate("run", small, "--out", "first", cwd=tmp_path).returncode == 0
    again = syncopate("run", "first/config.yaml", "--out", "second", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    for name in ["config.yaml", "profile.yaml", "metrics.json", "steps.csv", "requests.csv",
                 "timeline.json"]:
        first = (tmp_path / "first" / name).read_bytes()
        assert first == (tmp_path / "second" / name).read_bytes(), name


def test_every_runtime_and_strategy_gives_the_same_tokens(tmp_path, small):
    for model in models_of_this_build():
        small.write_text(SMALL.replace(HASH, model))
        digests = set()
        for runtime, strategy, graphs in itertools.product(
                ["sim", "cpu"], ["default_stream", "ordered", "async"], ["on", "off"]):
            done = syncopate("run", small, "--runtime", runtime, "--out", "a", "--force", "--set",
                             f"strategy.kind={strategy}", "--set", f"strategy.graphs={graphs}",
                             cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            digests.add(metrics(tmp_path / "a")["tokens_digest"])
        assert len(digests) == 1, model


def test_several_configs_end_in_a_table(tmp_path, small):
    other = tmp_path / "other.yaml"
    other.write_text(SMALL.replace("async", "ordered"))
    done = syncopate("run", small, other, "--out", "both", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("\n\n")[1].splitlines()
    assert table[0].split()[:3] == ["config", "runtime", "strategy"]
    assert [line.split()[0] for line in table[1:]] == ["small", "other"]
    assert {f.name for f in (tmp_path / "both").iterdir()} == {"small-sim", "other-sim"}


def test_a_timeline_of_each_run_follows_the_table(tmp_path, small):
    other = tmp_path / "other.yaml"
    other.write_text(SMALL.replace("async", "ordered"))
    done = syncopate("run", small, other, "--timeline", "--out", "a", "--set", "output.log=false",
                     cwd=tmp_path, COLUMNS="72")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and "\x1b" not in done.stdout
    _, _, first, second = done.stdout.split("\n\n")
    for text, name in [(first, "small-sim"), (second, "other-sim")]:
        title, when, *rows = text.splitlines()
        assert title == name
        assert when.startswith("steps ")
        assert [row.split()[0] for row in rows[:4]] == ["host", "h2d", "compute", "d2h"]
        assert {len(row) for row in rows[:4]} == {72}
        assert all(len(row) <= 72 for row in rows)


def test_a_timeline_is_100_columns_wide_where_nothing_says_otherwise(tmp_path, small):
    done = syncopate("run", small, "--timeline", cwd=tmp_path, COLUMNS="")
    assert max(len(row) for row in done.stdout.split("\n\n")[2].splitlines()) == 100


def test_columns_that_no_terminal_has_do_not_cost_the_run(tmp_path, small):
    done = syncopate("run", small, "--timeline", cwd=tmp_path, COLUMNS="99999999999")
    assert done.returncode == 0, done.stderr


def test_on_a_terminal_a_timeline_has_its_width_and_colours_unless_told(tmp_path, small):
    def timeline(**environment):
        text = syncopate_on_a_terminal("run", small, "--timeline", "--force", cwd=tmp_path,
                                       columns=64, **environment)
        return text.split("\n\n")[2]

    plain = timeline(NO_COLOR="1")
    assert "\x1b" not in plain
    assert max(len(row) for row in plain.splitlines()) == 64
    coloured = timeline(NO_COLOR="")
    assert "\x1b[0;30;48;5;" in coloured


@pytest.mark.parametrize("arguments, message", [
    (["run"], "CONFIG is required"),
    (["run", "none.yaml"], "none.yaml: no such file"),
    (["run", "small.yaml", "--set", "strategy.slot=2"], "did you mean 'slots'?"),
    (["run", "small.yaml", "--set"], "--set"),
    (["run", "small.yaml", "--runtime", "gpu"], "--runtime runtime.kind: "),
    (["run", "small.yaml", "--colour"], "--colour"),
    (["run", "small.yaml", "small.yaml"], "would both be written"),
    (["run", "small.yaml", "--set", "strategy.kind=unordered"], "has races"),
    (["run", "small.yaml", "--set", "limits.rows=0"], "--set limits.rows: 0 is out of range"),
    (["run", "small.yaml", "--out", ""], "--out"),
    (["run", "small.yaml", "--out", "small.yaml/run"], "Not a directory"),
    (["run", "small.yaml", "--out", ".", "--dry-run"], "is no run's folder"),
    (["run", "small.yaml", "--set", "model={kind: llama, checkpoint: none}"], "--set model"),
    (["schema", "--profile", "--markdown"], "--profile"),
    (["run", "small.yaml", "--out", "n" * 250], "File name too long"),
    (["run", "small.yaml", "--out", "n" * 5000], "File name too long"),
    (["check", "none"], "no such run"),
    (["check", "."], "no timeline.json"),
    (["dance"], "unknown command 'dance'"),
    (["chek", "a"], "did you mean 'check'?"),
])
def test_a_wrong_command_says_so_and_writes_nothing(tmp_path, small, arguments, message):
    before = sorted(tmp_path.rglob("*"))
    done = syncopate(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_all_configs_are_checked_before_the_first_one_runs(tmp_path, small):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(SMALL + "extra: 1\n")
    assert syncopate("run", small, wrong, cwd=tmp_path).returncode == 2
    assert not (tmp_path / "runs").exists()


def test_what_this_build_lacks_is_found_before_the_first_run(tmp_path, small):
    listed = syncopate("list", cwd=tmp_path).stdout
    lacking = {"cuda": "{kind: cuda}", "llama": "{kind: cpu}"}
    for name, runtime in lacking.items():
        line = next(line for line in listed.splitlines() if line.startswith(f"  {name} "))
        if "not available" not in line:
            continue
        reason = line.split("(not available: ")[1].rstrip(")")
        wrong = tmp_path / "wrong.yaml"
        text = SMALL.replace("{kind: sim, profile: h200}", runtime)
        wrong.write_text(text.replace(HASH, LLAMA) if name == "llama" else text)
        done = syncopate("run", small, wrong, cwd=tmp_path)
        assert done.returncode == 2
        assert f".kind: {name} is not available: {reason}" in done.stderr
        assert f"{wrong}:" in done.stderr
        assert not (tmp_path / "runs").exists()
    sizes = ["--set", f"model={LLAMA}", "--set", "runtime.effects=off"]
    assert syncopate("run", small, *sizes, cwd=tmp_path).returncode == 0, "times need no weights"


def test_a_run_that_fails_is_status_3_and_the_others_go_on(tmp_path, small):
    failing = tmp_path / "failing.yaml"
    failing.write_text(SMALL.replace("count: 6", "count: 60"))
    small.write_text(SMALL + "output: {log: off}\n")
    largest = 64 << 10

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    done = subprocess.run([PROGRAM, "run", failing, small], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120, preexec_fn=limit, restore_signals=False)
    assert done.returncode == 3
    assert done.stderr.startswith(f"syncopate: {failing}: ")
    assert "timeline.json" in done.stderr and "File too large" in done.stderr
    assert [f.name for f in (tmp_path / "runs" / tmp_path.name).iterdir()] == ["small-sim"], "no half folder"


def test_a_dry_run_says_where_each_value_comes_from_and_writes_nothing(tmp_path, small):
    other = tmp_path / "other.yaml"
    other.write_text(SMALL.replace("async", "ordered"))
    before = sorted(tmp_path.rglob("*"))
    done = syncopate("run", "small.yaml", "other.yaml", "--dry-run", "--set", "limits.rows=2",
                     "--out", "both", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    first, second = done.stdout.split("---\n")[1:]
    assert first.startswith("# small.yaml: would be written to both/small-sim\n# profile: ")
    assert second.startswith("# other.yaml: would be written to both/other-sim\n")
    origins = {}
    for line in first.splitlines():
        if "  # " in line:
            value, origin = line.split("  # ")
            origins[value.strip()] = origin
    assert origins["rows: 2"] == "--set limits.rows"
    assert origins["kind: async"] == "small.yaml:5:18"
    assert origins["graphs: true"] == "default"
    (tmp_path / "again.yaml").write_text(first)
    again = syncopate("run", "again.yaml", "--dry-run", cwd=tmp_path).stdout
    strip = lambda text: [line.split("  # ")[0].rstrip() for line in text.splitlines()
                          if not line.startswith("#")]
    assert strip(again) == strip(first)


def test_an_older_run_is_replaced_only_by_force(tmp_path, small):
    assert syncopate("run", small, "--out", "a", cwd=tmp_path).returncode == 0
    digest = metrics(tmp_path / "a")["tokens_digest"]
    refused = syncopate("run", small, "--out", "a", "--set", "requests.seed=5", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert metrics(tmp_path / "a")["tokens_digest"] == digest
    forced = syncopate("run", small, "--out", "a", "--set", "requests.seed=5", "--force",
                       cwd=tmp_path)
    assert forced.returncode == 0
    assert metrics(tmp_path / "a")["tokens_digest"] != digest


def test_check_finds_the_races_of_a_strategy_without_events(tmp_path, small):
    sets = ["--set", "strategy.kind=unordered", "--set", "strategy.allow_races=true"]
    assert syncopate("run", small, "--out", "racy", *sets, cwd=tmp_path).returncode == 0
    found = syncopate("check", "racy", cwd=tmp_path)
    assert found.returncode == 1
    *kinds, total = found.stdout.splitlines()
    assert len(kinds) == metrics(tmp_path / "racy")["races"] > 0
    assert all("missing" in line for line in kinds)
    *pairs, same_total = syncopate("check", "racy", "--all", cwd=tmp_path).stdout.splitlines()
    assert all("missing" in line and "times" not in line for line in pairs)
    assert total.startswith(f"{len(pairs)} races of {len(kinds)} kinds in ")
    assert total.startswith(same_total)
    times = [int(line.split("[")[1].split()[0]) if "times]" in line else 1 for line in kinds]
    assert sum(times) == len(pairs)
    assert syncopate("run", small, "--out", "right", cwd=tmp_path).returncode == 0
    clean = syncopate("check", "right", cwd=tmp_path)
    assert clean.returncode == 0
    assert clean.stdout.startswith("no races in ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_what_cannot_be_printed_is_an_error(tmp_path, small):
    for arguments in (["list"], ["run", small]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, *arguments], cwd=tmp_path, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=120)
        assert done.returncode == 3, arguments
        assert done.stderr == "syncopate: cannot write to standard output\n"


def test_check_names_the_file_that_contradicts_itself(tmp_path, small):
    assert syncopate("run", small, "--out", "run", cwd=tmp_path).returncode == 0
    file = tmp_path / "run" / "timeline.json"
    timeline = json.loads(file.read_text())
    timeline["accesses"]["buffer"][0] = 4242
    file.write_text(json.dumps(timeline))
    found = syncopate("check", "run", cwd=tmp_path)
    assert found.returncode == 3
    assert "timeline.json" in found.stderr and "4242" in found.stderr
    file.write_text(json.dumps(timeline)[:5000])
    cut = syncopate("check", "run", cwd=tmp_path)
    assert cut.returncode == 3
    assert cut.stderr == ("syncopate: run/timeline.json: not JSON from byte 5001 on: was it cut off "
                          "or edited?\n")
    file.unlink()
    os.mkfifo(file)
    assert "no timeline.json" in syncopate("check", "run", cwd=tmp_path).stderr


def test_without_a_command_the_help_is_shown_as_an_error(tmp_path):
    nothing = syncopate(cwd=tmp_path)
    assert nothing.returncode == 2
    assert nothing.stdout == ""
    assert nothing.stderr == syncopate("--help", cwd=tmp_path).stdout


def test_help_version_and_list_succeed(tmp_path):
    help_text = syncopate("--help", cwd=tmp_path)
    assert help_text.returncode == 0
    assert "syncopate run configs/post/sync.yaml" in help_text.stdout
    for command in ["run", "check", "list", "schema"]:
        assert f"\n  {command} " in help_text.stdout
        of_command = syncopate(command, "--help", cwd=tmp_path)
        assert of_command.returncode == 0
        assert f"Examples:\n  syncopate {command}" in of_command.stdout
    assert syncopate("--version", cwd=tmp_path).stdout.startswith("syncopate ")
    listed = syncopate("list", cwd=tmp_path)
    assert listed.returncode == 0
    for word in ["batching", "ulysses", "sim", "cpu", "cuda", "async", "chunk_overlap", "hash", "llama", "h200",
                 "post"]:
        assert f"  {word} " in listed.stdout


@pytest.mark.parametrize("config, seconds, active", [
    # Published: total time and share of it that the GPU was active.
    ("sync", 300.6, 76.0),
    ("async", 234.5, 99.4),
    # The GPU work of the synchronous run, never waiting: 300.6 s * 76.0 %.
    ("async_predicted", 228.5, 100.0),
])
def test_the_post_s_runs_come_out_as_published(tmp_path, config, seconds, active):
    done = syncopate("run", POST / f"{config}.yaml", "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    m = metrics(tmp_path / "a")
    assert m["tokens"] == 32 * 8192
    assert m["tokens_digest"] is None
    assert abs(m["total_time_s"] / seconds - 1) < 0.005
    assert abs(m["device_active_pct"] - active) < 0.3


# -- calibrate


def calibrate(small, *more, cwd):
    return syncopate("calibrate", small, "--runtime", "cpu", *more, cwd=cwd)


def test_calibrate_writes_a_profile_that_sim_runs_with(tmp_path, small):
    done = calibrate(small, "--out", "mine.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("wrote mine.yaml\n")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["mine.yaml", "small.yaml"]
    text = (tmp_path / "mine.yaml").read_text()
    for line in ('  runtime: "cpu"', "    kind: hash", "  processor_threads: ", "  revision: ",
                 f'  command: "syncopate calibrate {small} --runtime cpu --out mine.yaml"',
                 "      p95_error_pct: ", "ranges:\n  rows: 3\n"):
        assert line in text, line
    done = syncopate("run", small, "--set", "runtime.profile=./mine.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert metrics(tmp_path / "runs" / tmp_path.name / "small-sim")["races"] == 0


def test_sim_warns_where_steps_are_larger_than_what_was_measured(tmp_path, small):
    assert calibrate(small, "--out", "mine.yaml", cwd=tmp_path).returncode == 0
    done = syncopate("run", small, "--set", "runtime.profile=./mine.yaml", "--set", "limits.rows=5",
                     "--set", "requests.prompt_tokens=1", cwd=tmp_path)
    assert done.returncode == 0
    assert "warning:" in done.stderr and "profile mine" in done.stderr
    assert done.stderr.count("\n") == 1


def test_calibrate_says_at_which_key_a_model_is_not_to_be_had(tmp_path, small):
    small.write_text(small.read_text().replace(HASH, "{kind: llama, checkpoint: nowhere}"))
    done = calibrate(small, "--out", "mine.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"syncopate: {small}:4:"), done.stderr
    assert not (tmp_path / "mine.yaml").exists()


def test_calibrate_replaces_a_file_only_when_forced(tmp_path, small):
    target = tmp_path / "mine.yaml"
    target.write_text("mine")
    done = calibrate(small, "--out", target, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"syncopate: {target} exists: --force replaces it\n"
    assert target.read_text() == "mine"
    assert calibrate(small, "--out", target, "--force", cwd=tmp_path).returncode == 0
    assert "provenance:" in target.read_text()


@pytest.mark.parametrize("runtime", ["cuda", "sim", "cpus"])
def test_calibrate_refuses_what_it_cannot_measure(tmp_path, small, runtime):
    done = syncopate("calibrate", small, "--runtime", runtime, "--out", "mine.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"syncopate: calibrate: --runtime {runtime}: only cpu can be calibrated\n"
    assert not (tmp_path / "mine.yaml").exists()


@pytest.mark.parametrize("out, said", [("nowhere/mine.yaml", "no such folder"), (".", "a folder")])
def test_calibrate_refuses_a_target_that_cannot_be(tmp_path, small, out, said):
    done = calibrate(small, "--out", out, "--force", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_calibrate_replaces_no_pipe_or_device(tmp_path, small):
    os.mkfifo(tmp_path / "pipe")
    done = calibrate(small, "--out", "pipe", "--force", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "syncopate: pipe is no regular file: --out takes one, or a new name\n"
    assert (tmp_path / "pipe").is_fifo()


if os.path.exists(PROGRAM) and len(models_of_this_build()) == 1:  # with libtorch it would take half a minute
    def test_calibrate_without_a_configuration_takes_the_demos_model(tmp_path):
        done = syncopate("calibrate", "--runtime", "cpu", "--out", "mine.yaml", cwd=tmp_path)
        assert done.returncode == 2
        assert "demo/sync_cpu.yaml:" in done.stderr
        assert "model.kind: llama is not available" in done.stderr
        assert not (tmp_path / "mine.yaml").exists()


def test_the_critical_path_adds_up_to_the_run(tmp_path, small):
    assert syncopate("run", small, "--out", "r", cwd=tmp_path).returncode == 0
    done = syncopate("critical-path", "r", cwd=tmp_path)
    assert done.returncode == 0
    head, *rows, empty, whole = done.stdout.splitlines()
    assert head.split() == ["time", "of", "name", "times", "ms", "%"] and not empty
    assert abs(sum(float(row.split()[-2]) for row in rows) - float(whole.split()[0])) < 0.001 * len(rows)
    times = json.loads((tmp_path / "r" / "timeline.json").read_text())["operations"]["end"]
    assert abs(float(whole.split()[0]) - max(times) / 1e6) < 0.001

    assert syncopate("critical-path", "nowhere", cwd=tmp_path).returncode == 2


def test_what_if_tries_changes_in_virtual_time(tmp_path):
    done = syncopate("what-if", POST / "sync.yaml", cwd=tmp_path)
    assert done.returncode == 0
    rows = {line[:17].strip(): line[17:].split() for line in done.stdout.splitlines()}
    assert rows["nothing"][-1] == "1.000" and float(rows["kernels 2x faster"][-1]) > 1.5
    assert not list(tmp_path.iterdir())

    measured = syncopate("what-if", POST / "sync.yaml", "--set", "runtime={kind: cpu}", cwd=tmp_path)
    assert measured.returncode == 2 and "runtime.kind must be sim" in measured.stderr


def test_two_times_of_a_step_say_what_async_gives(tmp_path):
    done = syncopate("predict", "--host-ms", 1, "--device-ms", 3, "--batch", 8, cwd=tmp_path)
    assert done.returncode == 0
    row = next(line for line in done.stdout.splitlines() if line.startswith("async, 2 slots "))
    step, tokens, active, gain = map(float, row.split()[3:])
    assert (round(step, 2), round(gain, 2)) == (3.0, 1.33)
    assert abs(tokens - 8 / 3e-3) < 2 and active > 99.9
    assert "Overlap alone gains at most 1.333 times" in done.stdout

    refused = syncopate("predict", "--host-ms", 1, "--device-ms", 3, "--launch-ms", 2, cwd=tmp_path)
    assert refused.returncode == 2 and not refused.stdout
    assert "take longer than all of it" in refused.stderr


def test_a_run_that_an_error_ends_is_kept_beside_its_name_and_marked(tmp_path):
    """With room for the program but not for the log of ten million steps."""
    config = tmp_path / "long.yaml"
    config.write_text(SMALL.replace("count: 6", "count: 10000").replace("rows: 3", "rows: 1")
                      .replace("max_new_tokens: {min: 3, max: 12}", "max_new_tokens: 1000")
                      .replace("pages: 32", "pages: 300"))
    done = subprocess.run(
        [PROGRAM, "run", config, "--out", "a"], cwd=tmp_path, capture_output=True, text=True,
        timeout=120, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30)))
    assert done.returncode == 3
    kept = tmp_path / "a.incomplete"
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"syncopate: {config}: out of memory",
        f"syncopate: {config}: what there is of the run, 0 finished steps, is in {kept}"]
    assert not (tmp_path / "a").exists()
    figures = metrics(kept)
    assert (figures["complete"], figures["error"]) == (False, "out of memory")
    assert {file.name for file in kept.iterdir()} == FILES | {"timeline.json"}
    # The name is free, and a run that comes to its end takes it.
    config.write_text(SMALL)
    assert syncopate("run", config, "--out", "a", cwd=tmp_path).returncode == 0
    assert metrics(tmp_path / "a")["complete"] is True
