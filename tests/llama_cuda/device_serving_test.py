"""A checkpoint written by transformers, served on the GPU: its tokens beside transformers' greedy
ones on the same GPU, in bf16 as well. Two orders of rounding part where logits nearly tie, and then
all that follows differs: so transformers is fed our tokens, and each must be its largest logit but
for what bf16 rounds."""

import json
import os
import pathlib
import subprocess

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PROGRAM = os.environ.get("SYNCOPATE_PROGRAM", "")
if not os.path.exists(PROGRAM):
    pytest.skip("no built program", allow_module_level=True)
if not torch.cuda.is_available():
    pytest.skip("skipped: no CUDA device", allow_module_level=True)

VOCAB = 1000


@pytest.fixture(scope="module", params=["plain", "tied"])
def checkpoint(request, tmp_path_factory):
    """A small random model's folder, and what transformers loads from it."""
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("checkpoint")
    transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCAB, hidden_size=256, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=2, head_dim=64, intermediate_size=512, max_position_embeddings=512,
        initializer_range=0.08, tie_word_embeddings=request.param == "tied")).to(
            torch.bfloat16).save_pretrained(folder, max_shard_size="1MB")
    def load(dtype):
        return transformers.LlamaForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation="sdpa").eval().to("cuda")
    return folder, load(torch.bfloat16), load(torch.float32)


@pytest.fixture(scope="module")
def requests():
    """Mixed lengths, more than fit a batch at once; prompts longer than a chunk."""
    random = torch.Generator().manual_seed(6)

    def draw(low, high):
        return int(torch.randint(low, high + 1, (1,), generator=random))

    return [{"prompt": [draw(0, VOCAB - 1) for _ in range(draw(1, 120))],
             "max_new_tokens": draw(8, 60)} for _ in range(16)]


@pytest.mark.parametrize("strategy", ["ordered", "async"])
@pytest.mark.parametrize("invariant", [False, True])
def test_requests_get_the_tokens_of_transformers(tmp_path, checkpoint, requests, strategy, invariant):
    folder, rounded, exact = checkpoint
    config = tmp_path / "served.yaml"
    config.write_text(json.dumps({  # JSON is YAML
        "program": "batching",
        "runtime": {"kind": "cuda"},
        "model": {"kind": "llama", "checkpoint": str(folder), "invariant": invariant},
        "strategy": {"kind": strategy},
        "requests": requests,
        "limits": {"rows": 5, "tokens": 48, "page_tokens": 7, "pages": 200},
        "scheduler": {"chunk_tokens": 33},
        "output": {"tokens": True},
    }))
    done = subprocess.run([PROGRAM, "run", config, "--out", "run"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["races"] == 0
    answers = json.loads((tmp_path / "run" / "tokens.json").read_text())

    same = total = 0
    for request, tokens in zip(requests, answers, strict=True):
        assert len(tokens) == request["max_new_tokens"]
        ids = torch.tensor([request["prompt"] + tokens], device="cuda")
        with torch.no_grad():
            logits, precise = (model(ids).logits[0, len(request["prompt"]) - 1:-1].float()
                               for model in (rounded, exact))
        # What rounding does to a logit, by transformers' own example: it may part two of them by
        # twice the largest of it.
        tie = 2 * (logits - precise).abs().max()
        ours = torch.tensor(tokens, device="cuda")
        behind = logits.max(dim=1).values - logits.gather(1, ours[:, None])[:, 0]
        assert behind.max() <= tie
        same += int((logits.argmax(dim=1) == ours).sum())
        total += len(tokens)
    print(f"{same} of {total} tokens are transformers' own, the rest near ties")
    assert same >= 0.9 * total
