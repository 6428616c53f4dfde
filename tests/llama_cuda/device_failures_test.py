"""What goes wrong on the GPU, from the command line: each is told clearly, with the exit status of
what it is, and nothing is written that looks like a run."""

import json
import os
import pathlib
import subprocess

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors_torch = pytest.importorskip("safetensors.torch")

PROGRAM = os.environ.get("SYNCOPATE_PROGRAM", "")
if not os.path.exists(PROGRAM):
    pytest.skip("no built program", allow_module_level=True)
if not torch.cuda.is_available():
    pytest.skip("skipped: no CUDA device", allow_module_level=True)

SHAPE = {"vocab": 1000, "hidden": 256, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 64,
         "intermediate": 512}


def run(tmp_path, environment=None, **changes):
    config = tmp_path / "run.yaml"
    config.write_text(json.dumps({  # JSON is YAML
        "program": "batching", "runtime": {"kind": "cuda"},
        "model": {"kind": "llama", "shape": SHAPE}, "strategy": {"kind": "async"},
        "requests": {"count": 4, "prompt_tokens": 8, "max_new_tokens": 4},
        "limits": {"rows": 4, "tokens": 32, "page_tokens": 16, "pages": 16},
        **changes}))
    done = subprocess.run([PROGRAM, "run", config, "--out", "run"], cwd=tmp_path, text=True,
                          capture_output=True, timeout=120,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), **(environment or {})})
    return done, tmp_path / "run"


def expect_failure(result, status, *texts):
    done, folder = result
    assert done.returncode == status, done.stderr
    assert not folder.exists()
    for text in texts:
        assert text in done.stderr


def test_it_runs_at_all(tmp_path):
    done, folder = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert folder.exists()


def test_weights_that_do_not_fit(tmp_path):
    huge = {**SHAPE, "hidden": 16384, "intermediate": 262144, "layers": 400, "heads": 256}
    expect_failure(run(tmp_path, model={"kind": "llama", "shape": huge}), 3, "parameters in bf16",
                   "bytes of device memory", "free")


def test_pages_that_do_not_fit(tmp_path):
    limits = {"rows": 4, "tokens": 32, "page_tokens": 4096, "pages": 16000000}
    expect_failure(run(tmp_path, limits=limits), 3, "bytes of device memory", "free")


def test_a_shape_without_a_kernel(tmp_path):
    shape = {**SHAPE, "head_dim": 32}
    expect_failure(run(tmp_path, model={"kind": "llama", "shape": shape}), 2, "model.shape",
                   "head_dim")


def test_no_device(tmp_path):
    expect_failure(run(tmp_path, environment={"CUDA_VISIBLE_DEVICES": ""}), 2, "no CUDA device")


@pytest.fixture
def checkpoint(tmp_path):
    folder = tmp_path / "checkpoint"
    transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=100, hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=64, intermediate_size=256)).to(
            torch.bfloat16).save_pretrained(folder)
    file = folder / "model.safetensors"

    def change(edit):
        tensors = safetensors_torch.load_file(file)
        edit(tensors)
        safetensors_torch.save_file(tensors, file, metadata={"format": "pt"})
        return {"kind": "llama", "checkpoint": str(folder)}

    return change


UP = "model.layers.1.mlp.up_proj.weight"


def test_a_missing_tensor(tmp_path, checkpoint):
    model = checkpoint(lambda tensors: tensors.pop(UP))
    expect_failure(run(tmp_path, model=model), 3, UP)


def test_a_tensor_of_the_wrong_shape(tmp_path, checkpoint):
    model = checkpoint(lambda tensors: tensors.update({UP: tensors[UP][:-1].contiguous()}))
    expect_failure(run(tmp_path, model=model), 3, UP, "256", "255")
