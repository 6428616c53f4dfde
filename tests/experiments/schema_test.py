"""`syncopate schema`: the program's own schema, held against an independent validator."""

import copy
import json
import subprocess

import pytest
from program import PROGRAM, ROOT, needs_program

jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")

pytestmark = needs_program

PROFILES = sorted((ROOT / "configs" / "hardware").glob("*.yaml"))
SWEEPS = sorted((ROOT / "configs" / "sweeps").glob("*.yaml"))
CONFIGS = sorted(set((ROOT / "configs").rglob("*.yaml")) - set(PROFILES) - set(SWEEPS))

VALID = yaml.safe_load("""
program: batching
runtime: {kind: sim, profile: h200}
model: {kind: hash, vocab: 64}
strategy: {kind: async, slots: 2}
requests: {count: 6, prompt_tokens: 4, max_new_tokens: {min: 3, max: 12}, eos: null}
limits: {rows: 3, tokens: 32, pages: 32}
""")

ULYSSES = yaml.safe_load("""
program: ulysses
runtime: {kind: cpu}
shape: {world: 2, sequence: 31, heads: 8, head_dim: 8}
variants: [{strategy: ordinary}, {strategy: chunk_overlap}]
""")

LLAMA = {"kind": "llama", "shape": {"vocab": 64, "hidden": 24, "layers": 2, "heads": 2, "kv_heads": 1,
                                    "head_dim": 8, "intermediate": 40}}


def printed(*options):
    return subprocess.run([PROGRAM, "schema", *options], capture_output=True, text=True, check=True,
                          timeout=60).stdout


@pytest.fixture(scope="module")
def config_schema():
    return jsonschema.Draft202012Validator(json.loads(printed()))


@pytest.fixture(scope="module")
def profile_schema():
    return jsonschema.Draft202012Validator(json.loads(printed("--profile")))


@pytest.fixture(scope="module")
def sweep_schema():
    return jsonschema.Draft202012Validator(json.loads(printed("--sweep")))


def changed(path, value):
    """VALID with one value replaced, or taken out if it is `...`."""
    out = copy.deepcopy(VALID)
    *way, last = path.split(".")
    at = out
    for key in way:
        at = at.setdefault(key, {})
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return out


def test_the_schemas_are_schemas(config_schema, profile_schema, sweep_schema):
    for validator in (config_schema, profile_schema, sweep_schema):
        jsonschema.Draft202012Validator.check_schema(validator.schema)


@pytest.mark.parametrize("file", CONFIGS, ids=lambda f: f.stem)
def test_every_configuration_here_validates(config_schema, file):
    config_schema.validate(yaml.safe_load(file.read_text()))


@pytest.mark.parametrize("file", PROFILES, ids=lambda f: f.stem)
def test_every_profile_here_validates(profile_schema, file):
    profile_schema.validate(yaml.safe_load(file.read_text()))


@pytest.mark.parametrize("file", SWEEPS, ids=lambda f: f.stem)
def test_every_sweep_here_validates(sweep_schema, file):
    sweep_schema.validate(yaml.safe_load(file.read_text()))


@pytest.mark.parametrize("more, valid", [
    ({}, True),
    ({"repeats": 3}, True),
    ({"repeats": {"count": 3, "seeds": ["runtime.seed", "requests.seed"]}}, True),
    ({"set": {"host.extra_us": 3, "model": {"kind": "hash"}}}, True),
    ({"axes": [{"list": [{"limits.rows": 1}, {"limits.rows": 2, "limits.pages": 9}]}]}, True),
    ({"constraints": [{"require": "limits.rows > 0", "because": "why not"}]}, True),
    ({"base": 3.5}, False),
    ({"repeats": 0}, False),
    ({"repeats": {"seeds": []}}, False),
    ({"axes": {"grid": {"limits.rows": [1]}}}, False),
    ({"axes": [{"grid": {"limits.rows": 1}}]}, False),
    ({"axes": [{"grid": [1]}]}, False),
    ({"axes": [{"range": {}}]}, False),
    ({"constraints": [{"require": "limits.rows > 0"}]}, False),
    ({"more": 1}, False),
])
def test_the_schema_and_the_program_agree_on_a_sweep(sweep_schema, more, valid, tmp_path):
    (tmp_path / "base.yaml").write_text(json.dumps(VALID))
    sweep = {"base": "base.yaml", "axes": [{"grid": {"limits.rows": [1, 2]}}]} | more
    assert sweep_schema.is_valid(sweep) == valid
    file = tmp_path / "sweep.yaml"
    file.write_text(json.dumps(sweep))
    dry = subprocess.run([PROGRAM, "sweep", file, "--dry-run"], capture_output=True, text=True)
    assert dry.returncode == (0 if valid else 2), dry.stderr


@pytest.mark.parametrize("path, value", [
    ("strategy.slots", None),
    ("strategy.graphs", "off"),
    ("strategy.graphs", False),
    ("requests", [{"prompt": [1, 2], "max_new_tokens": 3}, {"prompt_tokens": 1, "max_new_tokens": 1}]),
    ("model", LLAMA),
    ("model", {"kind": "llama", "checkpoint": "folder"}),
    ("host", {"extra_us": 0.5}),
    ("runtime.seed", 2**64 - 1),
])
def test_what_the_program_takes_validates(config_schema, path, value, tmp_path):
    config = changed(path, value)
    config_schema.validate(config)
    file = tmp_path / "a.yaml"
    text = json.dumps(config).replace('"off"', "off")
    file.write_text(text)
    dry = subprocess.run([PROGRAM, "run", file, "--dry-run"], capture_output=True, text=True)
    assert dry.returncode == 0 or "not available" in dry.stderr or "no such folder" in dry.stderr


@pytest.mark.parametrize("path, value", [
    ("program", "serving"),
    ("program", ...),
    ("runtime.kind", "gpu"),
    ("runtime", ["sim"]),
    ("runtime", "sim"),
    ("model.kind", "gpt"),
    ("model.kind", ...),
    ("model.hidden", 8),
    ("model.vocab", 1),
    ("model.seed", 2**32),
    ("strategy.slots", 0),
    ("strategy.slots", 65),
    ("strategy.slots", 2.5),
    ("strategy.slots", "2"),
    ("strategy.slot", 2),
    ("strategy.graphs", "maybe"),
    ("strategy.graphs", 1),
    ("limits.rows", ...),
    ("requests.count", -1),
    ("requests.prompt_tokens", {"min": 1}),
    ("requests.prompt_tokens", [1, 2]),
    ("requests.prompt_tokens", 0),
    ("requests", [{"prompt": [1, 2**31], "max_new_tokens": 3}]),
    ("requests", [{"prompt": [1, 2]}]),
    ("requests.stop", [1, 2]),
    ("requests.sampling", {"temperature": -1}),
    ("scheduler", {"policy": "fair"}),
    ("limits.rows", None),
    ("host.extra_us", 1e7),
    ("output.log", "5"),
    ("runtime.seed", 2**64),
    ("more", 1),
])
def test_what_the_program_refuses_does_not(config_schema, path, value, tmp_path):
    config = changed(path, value)
    assert not config_schema.is_valid(config)
    file = tmp_path / "a.yaml"
    file.write_text(json.dumps(config))
    dry = subprocess.run([PROGRAM, "run", file, "--dry-run"], capture_output=True, text=True)
    assert dry.returncode == 2
    assert dry.stderr.startswith(f"syncopate: {file}:1:"), dry.stderr


@pytest.mark.parametrize("more, valid", [
    ({}, True),
    ({"benchmark": {"iterations": 3, "check": "off"}}, True),
    ({"variants": [{"strategy": "chunk_overlap", "schedule": [1, 3], "slots": None}]}, True),
    ({"shape": {"world": 2, "tokens": [5, 0], "heads": 8, "kv_heads": 2, "head_dim": 8}}, True),
    ({"model": {"kind": "hash"}}, False),
    ({"variants": {"strategy": "ordinary"}}, False),
    ({"variants": [{"strategy": "async"}]}, False),
    ({"variants": [{"strategy": "chunk_overlap", "schedule": [0, 4]}]}, False),
    ({"shape": {"world": 2, "sequence": 4, "head_dim": 8}}, False),
    ({"output": {"tokens": True}}, False),
])
def test_the_schema_and_the_program_agree_on_a_ulysses_configuration(config_schema, more, valid,
                                                                     tmp_path):
    config = ULYSSES | more
    assert config_schema.is_valid(config) == valid
    file = tmp_path / "a.yaml"
    file.write_text(json.dumps(config).replace('"off"', "off"))
    dry = subprocess.run([PROGRAM, "run", file, "--dry-run"], capture_output=True, text=True)
    assert dry.returncode == (0 if valid else 2), dry.stderr


@pytest.mark.parametrize("key, value", [("about", ...), ("jitter", 1), ("host", {}), ("hosts", {})])
def test_a_wrong_profile_does_not_validate(profile_schema, key, value):
    profile = yaml.safe_load(PROFILES[0].read_text())
    assert profile_schema.is_valid(profile)
    if value is ...:
        del profile[key]
    else:
        profile[key] = value
    assert not profile_schema.is_valid(profile)


def test_the_page_of_all_keys_is_as_the_program_prints_it():
    page = (ROOT / "docs" / "config.md").read_text()
    assert page == printed("--markdown"), "run: syncopate schema --markdown > docs/config.md"
