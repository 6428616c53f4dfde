"""Checkpoints written by transformers: our logits beside its own."""

import json
import os
import pathlib
import subprocess

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

DRIVER = pathlib.Path(os.environ.get("SYNCOPATE_BUILD_DIR", "build/cpu")) / "llama_logits"
pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="built without libtorch")

ROWS, LENGTH, VOCAB = 3, 90, 131
# Original context 32: of the eight frequencies some are kept, some blended, some divided.
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
CASES = {
    "plain": {},
    "tied": {"tie_word_embeddings": True},
    "llama3_rope": {"rope_parameters": LLAMA3},
    "one_kv_head": {"num_key_value_heads": 1},
    "all_kv_heads": {"num_key_value_heads": 4},
    "own_head_dim": {"head_dim": 24},
}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    torch.set_num_threads(1)


def save(folder, dtype=torch.float32, shard="5GB", **changes):
    """Saves a small random model; returns what transformers loads back, in fp32."""
    torch.manual_seed(1)
    config = transformers.LlamaConfig(**{
        "vocab_size": VOCAB,
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 100,
        "max_position_embeddings": 256,
        "initializer_range": 0.15,
        **changes,
    })
    model = transformers.LlamaForCausalLM(config).to(dtype)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:  # Ones by default, which would hide a norm left out.
                parameter.uniform_(0.5, 1.5)
    model.save_pretrained(folder, max_shard_size=shard)
    return transformers.LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()


def random_ids():
    return torch.randint(VOCAB, (ROWS, LENGTH), generator=torch.Generator().manual_seed(2))


def reference(model, ids):
    """Logits after every token: [rows, length, vocab]."""
    with torch.no_grad():
        return model(ids).logits.numpy()


def ours(folder, ids, splits, *options):
    """Logits after every step: [steps, rows, vocab]."""
    out = folder / "logits.bin"
    subprocess.run(
        [DRIVER, folder, out, "--rows", str(ROWS),
         "--ids", ",".join(map(str, ids.flatten().tolist())),
         "--splits", ",".join(map(str, splits)), *options],
        check=True)
    return np.fromfile(out, np.float32).reshape(len(splits), ROWS, VOCAB)


def check(model, folder, splits, *options):
    ids = random_ids()
    ends = np.cumsum(splits) - 1
    expected = reference(model, ids)[:, ends].transpose(1, 0, 2)
    assert np.ptp(expected) > 2  # Logits that say something.
    np.testing.assert_allclose(ours(folder, ids, splits, *options), expected, rtol=0, atol=1e-4)


PREFILL_THEN_DECODE = [LENGTH - 20] + [1] * 20


@pytest.mark.parametrize("options", [[], ["--invariant"]], ids=["fast", "invariant"])
@pytest.mark.parametrize("case", CASES)
def test_prefill_and_decode_agree(tmp_path, case, options):
    check(save(tmp_path, **CASES[case]), tmp_path, PREFILL_THEN_DECODE, *options)


@pytest.mark.parametrize("splits", [[LENGTH], [1] * LENGTH, [7, 50, 1, 32]],
                         ids=["whole", "one_by_one", "chunks"])
def test_every_split_agrees(tmp_path, splits):
    model = save(tmp_path, **CASES["llama3_rope"])
    check(model, tmp_path, splits, "--invariant", "--page-tokens", "7")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
def test_half_precision_weights_are_widened(tmp_path, dtype):
    check(save(tmp_path, dtype), tmp_path, PREFILL_THEN_DECODE)


def test_sharded_files_are_put_together(tmp_path):
    model = save(tmp_path, shard="100KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    check(model, tmp_path, PREFILL_THEN_DECODE)


def test_older_form_of_rope_is_read(tmp_path):
    model = save(tmp_path, **CASES["llama3_rope"])
    file = tmp_path / "config.json"
    config = json.loads(file.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = rope
    file.write_text(json.dumps(config))
    check(model, tmp_path, PREFILL_THEN_DECODE)


def test_a_shape_that_does_not_fit_is_named(tmp_path):
    save(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"intermediate_size": 101}))
    done = subprocess.run([DRIVER, tmp_path, tmp_path / "out", "--ids", "1", "--splits", "1"],
                          capture_output=True, text=True)
    assert done.returncode == 1
    assert "model.layers.0.mlp.gate_proj.weight" in done.stderr
    assert "has shape [100, 64]; the configuration says [101, 64]" in done.stderr
