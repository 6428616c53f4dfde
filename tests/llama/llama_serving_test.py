"""A checkpoint written by transformers, served by the program: each request's tokens beside those
that transformers' own greedy generation gives, on the same weights."""

import json
import os
import pathlib
import subprocess

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PROGRAM = os.environ.get("SYNCOPATE_PROGRAM", "")
pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="no built program")

VOCAB = 131
EOS = 80
# Logits of the two implementations agree to 1e-4 (llama_checkpoint_test.py).
CLEAR_GAP = 1e-3

VARIANTS = [
    *[(runtime, strategy, 1, graphs)
      for runtime in ["cpu", "sim"]
      for strategy in ["default_stream", "ordered"]
      for graphs in ["on", "off"]],
    *[(runtime, "async", slots, graphs)
      for runtime in ["cpu", "sim"]
      for slots in [2, 3]
      for graphs in ["on", "off"]],
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A small random model's folder, and what transformers loads from it."""
    torch.set_num_threads(1)
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("checkpoint")
    transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCAB, hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=100, max_position_embeddings=256,
        initializer_range=0.15)).save_pretrained(folder)
    model = transformers.LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    return folder, model


@pytest.fixture(scope="module")
def requests():
    """Mixed lengths, more than fit a batch at once; every second one may end early."""
    random = torch.Generator().manual_seed(6)

    def draw(low, high):
        return int(torch.randint(low, high + 1, (1,), generator=random))

    return [{
        "prompt": [draw(0, VOCAB - 1) for _ in range(draw(1, 30))],
        "max_new_tokens": draw(1, 40),
        "eos": EOS if i % 2 == 0 else None,
    } for i in range(16)]


@pytest.fixture(scope="module")
def expected(checkpoint, requests):
    """Each request alone, by transformers; no step of it near a tie."""
    _, model = checkpoint
    tokens = []
    for request in requests:
        prompt = torch.tensor([request["prompt"]])
        done = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False,
            max_new_tokens=request["max_new_tokens"], eos_token_id=request["eos"], pad_token_id=0,
            return_dict_in_generate=True, output_logits=True)
        for logits in done.logits:
            first, second = torch.topk(logits[0], 2).values
            assert first - second > CLEAR_GAP, "take another seed"
        tokens.append(done.sequences[0, prompt.shape[1]:].tolist())
    ends_by_eos = [t for t, r in zip(tokens, requests) if len(t) < r["max_new_tokens"]]
    assert ends_by_eos and all(t[-1] == EOS for t in ends_by_eos)
    return tokens


@pytest.mark.parametrize("runtime, strategy, slots, graphs", VARIANTS)
def test_requests_get_the_tokens_of_transformers(tmp_path, checkpoint, requests, expected, runtime,
                                                 strategy, slots, graphs):
    config = tmp_path / "served.yaml"
    config.write_text(json.dumps({  # JSON is YAML
        "program": "batching",
        "runtime": {"kind": runtime} | ({"profile": "h200"} if runtime == "sim" else {}),
        "model": {"kind": "llama", "checkpoint": str(checkpoint[0])},
        "strategy": {"kind": strategy, "slots": slots, "graphs": graphs == "on"},
        "requests": requests,
        "limits": {"rows": 5, "tokens": 48, "page_tokens": 7, "pages": 40},
        "output": {"tokens": True},
    }))
    done = subprocess.run([PROGRAM, "run", config, "--out", "run"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run" / "tokens.json").read_text()) == expected
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["races"] == 0
