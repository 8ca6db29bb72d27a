"""Writes pretrained.json and the files in pretrained/: small GPTs as people have them.

Files of torch.save come from PyTorch itself, those of safetensors from safetensors.py. The weights are random
and not small, so that a matrix that is not turned, or parts in the wrong order, change the logits visibly.
Logits are float64, computed from the weights in the file.

    ids       the token ids of all logits
    models    files, the config to pass with them (null: the file says enough), the logits
    tensors   torch.save's files that are no model: what stands in them, flattened with dots
    harmless  files with objects that are not read, deflated, and the tensors in them
    refused   broken and hostile files, deflated, and the message
"""

import argparse
import base64
import collections
import dataclasses
import datetime
import enum
import functools
import io
import json
import pathlib
import re
import struct
import zipfile
import zlib
from collections import OrderedDict

import numpy
import torch
from torch import nn

from common import pack
import pretrained_models
from pretrained_models import (
    IDS,
    MATRICES,
    GPT2,
    logits,
    to_book,
    to_linear,
    to_min_gpt,
)
from safetensors import file_of
from torchfile import archive, call, number, pickled, tensor, text, tuple_of

FOLDER = pathlib.Path(__file__).parent / "pretrained"
VOCAB, CONTEXT, DIM, HEADS = 19, 8, 12, 3
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64}


def hugging_face(layers):
    """config.json of a GPT-2, with the values that transformers writes."""
    return {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.1,
        "bos_token_id": 18,
        "embd_pdrop": 0.1,
        "eos_token_id": 18,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05,
        "model_type": "gpt2",
        "n_ctx": CONTEXT,
        "n_embd": DIM,
        "n_head": HEADS,
        "n_inner": None,
        "n_layer": layers,
        "n_positions": CONTEXT,
        "reorder_and_upcast_attn": False,
        "resid_pdrop": 0.1,
        "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True,
        "summary_activation": None,
        "summary_first_dropout": 0.1,
        "summary_proj_to_labels": True,
        "summary_type": "cls_index",
        "summary_use_proj": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
        "torch_dtype": "float32",
        "transformers_version": "4.44.2",
        "use_cache": True,
        "vocab_size": VOCAB,
    }


def book_config(layers, qkv_bias):
    """The book's GPT_CONFIG_124M."""
    return {
        "vocab_size": VOCAB,
        "context_length": CONTEXT,
        "emb_dim": DIM,
        "n_heads": HEADS,
        "n_layers": layers,
        "drop_rate": 0.1,
        "qkv_bias": qkv_bias,
    }


def model_args(layers, bias):
    """nanoGPT's."""
    return {
        "n_layer": layers,
        "n_head": HEADS,
        "n_embd": DIM,
        "block_size": CONTEXT,
        "bias": bias,
        "vocab_size": VOCAB,
        "dropout": 0.0,
    }


@dataclasses.dataclass
class GPTConfig:
    """build-nanogpt's, minGPT's GELU."""

    block_size: int = CONTEXT
    vocab_size: int = VOCAB
    n_layer: int = 1
    n_head: int = HEADS
    n_embd: int = DIM


@dataclasses.dataclass
class NanoConfig(GPTConfig):
    """nanoGPT's GPTConfig."""

    dropout: float = 0.0
    bias: bool = True


def gpt2(layers=2, dim=DIM, **options):
    return GPT2(VOCAB, CONTEXT, dim, HEADS, layers, **{"conv": True, **options})


def nano(layers=2, *, bias):
    """nanoGPT's GELU is the exact one, with erf."""
    return gpt2(layers, conv=False, bias=bias, gelu=nn.GELU())


def book(layers=2, dim=DIM, *, qkv_bias=True):
    return pretrained_models.book(VOCAB, CONTEXT, dim, HEADS, layers, qkv_bias=qkv_bias)


def draw(seed, layers=2, dim=DIM, *, tied=False):
    """Weights under Hugging Face's names."""
    torch.manual_seed(seed)
    state = {}
    for name, parameter in gpt2(layers, dim).state_dict().items():
        is_scale = "ln_" in name and name.endswith("weight")
        state[name] = 0.5 * torch.randn(parameter.shape) + is_scale
    if tied:
        state["lm_head.weight"] = state["transformer.wte.weight"]
    return state


def without(state, *ends):
    return {name: t for name, t in state.items() if not name.endswith(ends)}


def prefixed(prefix, state):
    return {prefix + name: t for name, t in state.items()}


def headless(state):
    """Without the prefix `transformer.` and without a head."""
    return {name[len("transformer.") :]: t for name, t in state.items() if name != "lm_head.weight"}


def with_masks(state, dtype, *, masked_bias=False, layers=2):
    """With the buffers that attention had in older versions."""
    masks = {}
    for i in range(layers):
        mask = torch.ones(CONTEXT, CONTEXT).tril().to(dtype)
        masks[f"transformer.h.{i}.attn.bias"] = mask.reshape(1, 1, CONTEXT, CONTEXT)
        if masked_bias:
            masks[f"transformer.h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    return {**state, **masks}


def bias_free(state):
    return without(state, ".bias")


def qkv_bias_free(state):
    return without(state, "W_query.bias", "W_key.bias", "W_value.bias", "qkv.bias")


def state_dict(state):
    """As Module.state_dict() returns it: an OrderedDict with an attribute, which is saved with it."""
    ordered = OrderedDict(state)
    ordered._metadata = OrderedDict({"": {"version": 1}})
    return ordered


def save(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def entries_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}


def storages_of(data):
    return {name[5:]: value for name, value in entries_of(data).items() if name.startswith("data/")}


def torch2(value, *, descriptors):
    """As PyTorch 2 writes it on a machine with a GPU."""
    data = save(value)
    cpu, gpu = text("cpu"), text("cuda:0")
    again = archive(
        entries_of(data)["data.pkl"].replace(cpu, gpu),
        storages_of(data),
        before=[(".format_version", b"1"), (".storage_alignment", b"64"), ("byteorder", b"little")],
        after=[("version", b"3\n"), (".data/serialization_id", b"1234567890123456789012345678901234567890")],
        descriptors=descriptors,
    )
    torch.load(io.BytesIO(again), map_location="cpu")
    return again


class Files:
    """Writes the files and collects what pretrained.json says about them."""

    def __init__(self):
        FOLDER.mkdir(exist_ok=True)
        for old in FOLDER.iterdir():
            old.unlink()
        self.models = []

    def write(self, name, data):
        assert len(data) < 40_000, (name, len(data))
        (FOLDER / name).write_bytes(data)

    def add(self, group, name, file, data, config, expected, **more):
        """data: None where the file is there already."""
        if data is not None:
            self.write(file, data)
        case = {"group": group, "name": name, "file": file, "config": config, **more}
        self.models.append({**case, "logits": pack(expected)})

    def shards(self, name, file, parts, index, config, expected):
        """parts: the tensors in each file. The index is written beside them."""
        for path, part in parts.items():
            self.write(path, save(part) if path.endswith(".bin") else file_of(part, {"format": "pt"}))
        data = json.dumps(index, indent=2).encode() + b"\n"
        self.add("shards", name, f"{file}.index.json", data, config, expected, shards=list(parts))


def stored(path):
    """What torch.load gives for a file."""
    return torch.load(FOLDER / path, map_location="cpu")


def rounded(state, dtype):
    return {name: t.to(dtype) for name, t in state.items()}


def step_of(model):
    """The state of AdamW after one step, and the weights after it."""
    model.float()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    ids = torch.tensor(IDS)
    nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
    optimizer.step()
    return optimizer.state_dict()


def checkpoint(state, args, optimizer):
    """nanoGPT's ckpt.pt."""
    return {
        "model": state_dict(state),
        "optimizer": optimizer,
        "model_args": args,
        "iter_num": 2000,
        "best_val_loss": torch.tensor(1.4697),
        "config": {
            "out_dir": "out-shakespeare-char",
            "eval_interval": 250,
            "always_save_checkpoint": False,
            "wandb_log": False,
            "dataset": "shakespeare_char",
            "learning_rate": 0.001,
            "weight_decay": 0.1,
            "beta2": 0.99,
            "grad_clip": 1.0,
            "max_iters": 5000,
            "device": "cuda",
            "dtype": "bfloat16",
            "compile": True,
            "init_from": "scratch",
            "large": 2**40,
            "nothing": None,
        },
    }


def gpt2_files(files):
    config, form = hugging_face(2), {"format": "pt"}
    state, own, one = draw(2, tied=True), draw(3), draw(4, 1, tied=True)
    expected, own_logits = logits(gpt2(), state), logits(gpt2(), own)
    data = file_of(headless(with_masks(state, torch.float32)), form)
    files.add("hf", "safetensors without a prefix", "hf.safetensors", data, config, expected)
    name = "safetensors with transformer. and a head of its own"
    files.add("hf", name, "hf_head.safetensors", file_of(own, form), config, own_logits)
    data = save(state_dict(with_masks(state, torch.uint8, masked_bias=True)))
    files.add("hf", "pytorch_model.bin with its masks", "pytorch_model.bin", data, config, expected)
    exact = {**config, "activation_function": "gelu", "layer_norm_epsilon": 1e-3}
    expected_exact = logits(gpt2(gelu=nn.GELU(), eps=1e-3), state)
    name = "another activation and epsilon in config.json"
    files.add("hf", name, "hf.safetensors", None, exact, expected_exact)
    data = file_of({**without(one, "lm_head.weight"), "score.weight": torch.randn(2, DIM)}, form)
    score = {"ignored": ["score.weight"]}
    name, one_logits = "a classifier's head", logits(gpt2(1), one)
    files.add("strict", name, "hf_score.safetensors", data, hugging_face(1), one_logits, **score)

    weights = without(state, "lm_head.weight")
    ends = [name for name in weights if "h.1." in name or "ln_f" in name]
    parts = {
        "model-00001-of-00002.safetensors": {k: t for k, t in weights.items() if k not in ends},
        "model-00002-of-00002.safetensors": {k: weights[k] for k in ends},
    }
    index = {
        "metadata": {"total_size": sum(4 * t.numel() for t in weights.values())},
        "weight_map": {key: name for name, part in parts.items() for key in sorted(part)},
    }
    files.shards("two shards with an index", "model.safetensors", parts, index, config, expected)
    parts = {
        "pytorch_model-00001-of-00002.bin": without(own, "lm_head.weight"),
        "pytorch_model-00002-of-00002.bin": {"lm_head.weight": own["lm_head.weight"]},
    }
    index = {"metadata": {}, "weight_map": {key: name for name, part in parts.items() for key in part}}
    name = "two shards of torch.save, whose first storages have the same name"
    files.shards(name, "pytorch_model.bin", parts, index, config, own_logits)


def nanogpt_files(files):
    model = nano(1, bias=False)
    tied = bias_free(to_linear(draw(5, 1, tied=True)))
    model.load_state_dict(tied)
    model.transformer.wte.weight = model.lm_head.weight
    optimizer = step_of(model)
    trained = {name: t.detach() for name, t in model.state_dict().items()}
    data = save(checkpoint(trained, model_args(1, False), optimizer))
    expected = logits(nano(1, bias=False), trained)
    files.add("nanogpt", "ckpt.pt with its optimizer", "ckpt.pt", data, None, expected)
    tanh, expected = {"activation_function": "gelu_new"}, logits(gpt2(1, conv=False, bias=False), trained)
    files.add("nanogpt", "ckpt.pt with an activation in config", "ckpt.pt", None, tanh, expected)
    state = bias_free(to_linear(draw(6, tied=True)))
    empty = {"state": {}, "param_groups": []}
    value = checkpoint(prefixed("_orig_mod.", state), model_args(2, False), empty)
    expected = logits(nano(bias=False), state)
    name = "ckpt.pt of a compiled model, written by PyTorch 2 on a GPU"
    files.add("nanogpt", name, "ckpt_compiled.pt", torch2(value, descriptors=True), None, expected)
    state = to_linear(draw(7, tied=True))
    data = save(checkpoint(with_masks(state, torch.float32), model_args(2, True), empty))
    name, expected = "ckpt.pt with biases and masks", logits(nano(bias=True), state)
    files.add("nanogpt", name, "ckpt_bias.pt", data, None, expected)
    state = to_linear(draw(8))
    data = save(state_dict(with_masks(state, torch.float32)))
    # minGPT's configuration; its GELU is that of tanh.
    config = {**model_args(2, True), "embd_pdrop": 0.1, "resid_pdrop": 0.1, "attn_pdrop": 0.1}
    config = {name: value for name, value in config.items() if name not in ("bias", "dropout")}
    expected = logits(gpt2(conv=False), state)
    files.add("mingpt", "model.pt of minGPT", "mingpt.pt", data, config, expected)
    exact, expected = {**config, "activation_function": "gelu"}, logits(nano(bias=True), state)
    files.add("mingpt", "model.pt with the exact GELU in config", "mingpt.pt", None, exact, expected)
    # Its GELU is nn.GELU, which is the exact one, as nanoGPT's.
    name, expected = "model.pt of minGPT before 2022", logits(nano(bias=True), to_linear(draw(14)))
    data = save(state_dict(to_min_gpt(draw(14), CONTEXT)))
    files.add("mingpt", name, "mingpt_2020.pt", data, {"n_head": HEADS}, expected)

    state = to_linear(draw(14, 1, tied=True))
    tanh, erf = logits(gpt2(1, conv=False), state), logits(nano(1, bias=True), state)
    log = {"step": 19072, "val_loss": numpy.float64(3.07), "rng": numpy.arange(3)}
    settings = {**model_args(1, True), "learning_rate": 6e-4, "device": "cuda", "betas": (0.9, 0.95)}
    for name, file, config, expected in (
        ("build-nanogpt's, whose config is a dataclass", "build.pt", GPTConfig(), tanh),
        ("a checkpoint with nanoGPT's dataclass", "dataclass.pt", NanoConfig(), erf),
        ("a checkpoint with argparse's arguments", "args.pt", argparse.Namespace(**vars(GPTConfig())), tanh),
        ("a checkpoint with the settings of nanoGPT's training", "settings.pt", settings, erf),
        ("a checkpoint with the fields that it needs", "fields.pt", {"n_head": HEADS}, tanh),
    ):
        data = save({"model": state, "config": config, **log})
        files.add("nanogpt", name, file, data, None, expected)


def named_files(files):
    """Checkpoints with other models and a training script's settings beside the model."""
    state, other = (bias_free(to_linear(draw(seed, 1, tied=True))) for seed in (15, 16))
    expected = logits(gpt2(1, conv=False, bias=False), state)
    config = {"n_head": HEADS, "learning_rate": 6e-4, "block_size": CONTEXT, "batch_size": 64}
    value = {"ema": {"module": state_dict(other)}, "module": state_dict(state), "config": config}
    files.add("beside", "the model beside an average, its heads in config", "ema.pt", save(value), None, expected)
    value = {"checkpoint": {"average": state_dict(other), "state_dict": state_dict(state)}}
    files.add("beside", "a state_dict beside another", "state_dict.pt", save(value), config, expected)
    value = {"student": {"model": state_dict(state)}, "teacher": {"model": state_dict(other)}}
    files.write("two_models.pt", save(value))


def book_files(files):
    config, biased = book_config(2, False), book_config(2, True)
    state = qkv_bias_free(to_book(draw(9), CONTEXT))
    expected, data = logits(book(qkv_bias=False), state), save(state_dict(state))
    files.add("book", "model.pth without biases of q, k and v", "model.pth", data, config, expected)
    camel = {"vocabSize": VOCAB, "contextLength": CONTEXT, "embDim": DIM, "nHeads": HEADS, "nLayers": 2}
    files.add("book", "model.pth with our own words", "model.pth", None, camel, expected)
    state = to_book(draw(10), CONTEXT)
    expected, name = logits(book(), state), "model.pth with biases of q, k and v"
    files.add("book", name, "model_bias.pth", save(state_dict(state)), biased, expected)
    files.add("book", "safetensors", "book.safetensors", file_of(state, {"format": "pt"}), biased, expected)
    state = to_book(draw(11, tied=True), CONTEXT)
    assert state["tok_emb.weight"] is state["out_head.weight"]
    expected, data = logits(book(), state), save(state_dict(state))
    files.add("book", "model.pth with a tied head", "model_tied.pth", data, biased, expected)
    expected = logits(book(qkv_bias=False), qkv_bias_free(to_book(draw(12), CONTEXT)))
    data = save(state_dict(qkv_bias_free(to_book(draw(12), CONTEXT, fused=True))))
    files.add("book", "one matrix for q, k and v", "model_qkv.pth", data, config, expected)
    model = book(1, 6, qkv_bias=False)  # narrow, since the optimizer's state is twice as large as the model
    model.load_state_dict(qkv_bias_free(to_book(draw(13, 1, 6), CONTEXT)))
    optimizer = step_of(model)
    state = model.state_dict()
    data = save({"model_state_dict": state, "optimizer_state_dict": optimizer})
    one = {**book_config(1, False), "emb_dim": 6}
    name = "model_and_optimizer.pth"
    files.add("book", name, name, data, one, logits(book(1, 6, qkv_bias=False), state))


def dtype_files(files):
    config = hugging_face(1)
    for i, (name, dtype) in enumerate(DTYPES.items()):
        state = rounded(draw(20 + i, 1), dtype)
        data, expected = save(state_dict(state)), logits(gpt2(1), state)
        files.add("dtypes", f"torch.save, {name}", f"hf_{name}.bin", data, config, expected)
        data = file_of(state, {"format": "pt"})
        files.add("dtypes", f"safetensors, {name}", f"hf_{name}.safetensors", data, config, expected)


def view_files(files):
    """Tensors that share storages, with offsets and strides of all kinds."""
    state = draw(40, 1)
    expected = logits(gpt2(1), state)
    views = {name: t.t().contiguous().t() if name.endswith(MATRICES) else t for name, t in state.items()}
    embeddings = torch.cat([state["transformer.wpe.weight"], state["transformer.wte.weight"]])
    views["transformer.wpe.weight"] = embeddings[:CONTEXT]
    views["transformer.wte.weight"] = nn.Parameter(embeddings[CONTEXT:])
    every_second = torch.stack([state["transformer.ln_f.bias"], torch.randn(DIM)], 1)
    views["transformer.ln_f.bias"] = every_second[:, 0]
    for name in state:
        assert torch.equal(views[name], state[name])
    data = save(state_dict(views))
    files.add("views", "transposed views, slices", "hf_views.bin", data, hugging_face(1), expected)

    state = to_book(draw(41, 1), CONTEXT)
    once = torch.full((1,), 0.25)
    state["trf_blocks.0.att.out_proj.bias"] = once.expand(DIM)
    expected = logits(book(1), state)
    views = dict(state)
    names = [f"trf_blocks.0.att.{part}" for part in ("W_query", "W_key", "W_value")]
    matrix = torch.cat([state[f"{name}.weight"] for name in names]).t().contiguous()  # Conv1D's layout
    vector = torch.cat([state[f"{name}.bias"] for name in names])
    for i, name in enumerate(names):
        views[f"{name}.weight"] = matrix[:, i * DIM : (i + 1) * DIM].t()
        views[f"{name}.bias"] = nn.Parameter(vector[i * DIM : (i + 1) * DIM], requires_grad=i == 0)
    views["out_head.weight"] = torch.stack([state["out_head.weight"]] * 2, 1)[:, 1]
    for name in state:
        assert torch.equal(views[name], state[name])
    data = save(views)
    config = book_config(1, True)
    files.add("views", "q, k and v are views of one matrix", "book_views.pth", data, config, expected)


def layout_files(files):
    """The same as other versions and options of torch.save lay it out."""
    state = qkv_bias_free(to_book(draw(50, 1), CONTEXT))
    expected = logits(book(1, qkv_bias=False), state)
    config = book_config(1, False)
    value = state_dict(state)
    for name, file, data in (
        ("PyTorch 2", "torch2.pth", torch2(value, descriptors=True)),
        ("PyTorch 2, sizes in front", "torch2_sizes.pth", torch2(value, descriptors=False)),
        ("pickle's protocol 1", "protocol1.pth", save(value, pickle_protocol=1)),
        ("pickle's protocol 4", "protocol4.pth", save(value, pickle_protocol=4)),
    ):
        files.add("layouts", name, file, data, config, expected)
    path = FOLDER / "named.pth"
    torch.save(value, path)  # the folder in the zip is named after the file
    files.add("layouts", "saved under a path", path.name, path.read_bytes(), config, expected)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as file:
        for name, part in entries_of(save(value)).items():
            file.writestr(zipfile.ZipInfo(f"archive/{name}"), part)
    files.add("layouts", "zipped again by Python", "zipped.pth", zipped.getvalue(), config, expected)


def flattened(value, prefix=""):
    if isinstance(value, torch.Tensor):
        return {prefix: value.detach()}
    if isinstance(value, (dict, list, tuple)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        parts = [flattened(item, f"{prefix}.{key}" if prefix else str(key)) for key, item in pairs]
        return {name: t for part in parts for name, t in part.items()}
    return {}


def tensor_cases(files):
    """For loadTorch."""
    torch.manual_seed(60)
    values = torch.randn(3, 4)
    kinds = {
        "bool": torch.tensor([True, False, True]),
        "uint8": torch.tensor([0, 255], dtype=torch.uint8),
        "int8": torch.tensor([-128, 127], dtype=torch.int8),
        "int16": torch.tensor([-(2**15), 9], dtype=torch.int16),
        "int32": torch.tensor([-(2**24), 7], dtype=torch.int32),
        "int64": torch.tensor([2**40, -5, 0]),
        "float16": torch.tensor([1.5, -6e-8, 65504.0, float("inf")], dtype=torch.float16),
        "bfloat16": torch.tensor([1.5, -1e-40, 3e38, float("nan")], dtype=torch.bfloat16),
        "float32": torch.tensor([0.0, -0.0, 1e-45, float("-inf")]),
        "float64": torch.tensor([[1.1, -0.25]], dtype=torch.float64),
    }
    value = {
        "kinds": kinds,
        "shapes": [torch.tensor(1.5), torch.zeros(3, 0), torch.ones(1, 1, 2)],
        "views": (values.t(), values[1:, ::2], values[1], torch.tensor(2.0).expand(2, 3)),
        "views of int8": [torch.arange(-128, 127, 43, dtype=torch.int8).reshape(2, 3).t()[1:]],
        "parameter": nn.Parameter(values),
        "größe": torch.ones(1),
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
        "words": ["a", 1, -1, 2**70, 1.5, None, True],
        "twelve": [torch.full((1,), float(i)) for i in range(12)],
        7: {"a": torch.full((2,), 7.0)},
    }
    files.write("kinds.pt", save(value))
    # What every object of JavaScript has.
    weight = {"weight": values, "__proto__": values[0]}
    value = {"__proto__": weight, "constructor": {"prototype": weight}, "toString": values, "length": values}
    files.write("names.pt", save(value))
    names = ("kinds.pt", "names.pt", "ckpt.pt", "model_and_optimizer.pth")
    return [
        {"file": name, "tensors": {k: pack(t.float()) for k, t in flattened(stored(name)).items()}}
        for name in names
    ]


class Color(enum.Enum):
    RED = 1


class Options(dict):
    """As EasyDict and its like."""


class Tagged(torch.Tensor):
    """As torchvision's."""


class Losses(list):
    """A list with attributes."""


def in_base64(data):
    """A file, deflated: many of these repeat one byte, or have the same parts."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def harmless():
    """Files with objects that nobody needs: name, bytes, the tensors."""
    cases = []

    def add(name, data):
        tensors = {k: pack(t.float()) for k, t in flattened(torch.load(io.BytesIO(data))).items()}
        entry = {"name": name, "file": in_base64(data), "tensors": tensors}
        cases.append(entry)

    def by_hand(name, opcodes, *more):
        data = archive(pickled(("a", tensor()), ("b", opcodes)), {"0": bytes(12)})
        tensors = {key: pack(torch.zeros(3)) for key in ("a", *more)}
        cases.append({"name": name, "file": in_base64(data), "tensors": tensors})

    options, losses = Options(lr=1), Losses([1.5])
    tagged = torch.ones(2).as_subclass(Tagged)
    tagged.tag = 1
    options.path, losses.best = "out", 1.5
    objects = {
        "a number of NumPy": numpy.float64(1.5),
        "an array of NumPy": numpy.arange(6).reshape(2, 3),
        "a dataclass": NanoConfig(),
        "argparse.Namespace": argparse.Namespace(lr=1, betas=(0.9, 0.95)),
        "a date": datetime.datetime(2026, 1, 2),
        "a duration": datetime.timedelta(1),
        "a defaultdict": collections.defaultdict(list, {"a": [torch.ones(1)]}),
        "a Counter": collections.Counter("aab"),
        "a deque": collections.deque([1, 2]),
        "an OrderedDict": OrderedDict(a=OrderedDict(b=torch.ones(1))),
        "sets": [{1}, frozenset([2])],
        "bytes": [b"ab\xff", bytearray(b"c"), b"d" * 300],
        "a path": pathlib.PurePosixPath("out"),
        "a complex number": 1 + 2j,
        "a class and its member": [Color, Color.RED],
        "a partial function": functools.partial(print, 1, end=""),
        "a subclass of dict": options,
        "a subclass of list": losses,
        "keys of all kinds": {(0, 1): 2, None: 3, 1.5: 4, torch.float32: 5, Color.RED: torch.Size([1])},
        "long keys": {"long " * 300: 1},
        "numbers": [2**31, -(2**31), 2**40, -1, 0, 300, 70000, True, False],
    }
    for name, value in objects.items():
        add(name, save({"a": torch.zeros(3), "b": value}))
    add("a subclass of Tensor", save({"a": torch.zeros(3), "b": tagged}))
    # A parameter with attributes, as PyTorch 2 writes it.
    parts = (tensor(), b"\x88", b"ccollections\nOrderedDict\n)R", b"}" + text("tag") + b"K\1s")
    by_hand("a parameter with attributes", call("torch._utils._rebuild_parameter_with_state", *parts), "b")
    # Protocols 0 and 1 write False and True as I00 and I01, and the numbers 0 and 1 as I0 and I1.
    booleans = b"}I00\n" + tensor() + b"sI01\n" + tensor() + b"sI1\n" + tensor() + b"s"
    by_hand("False, True and 1 of protocol 1", booleans, "b.false", "b.true", "b.1")
    for protocol in (1, 3, 4, 5):
        value = {"a": torch.zeros(3), **objects}
        add(f"all of it, protocol {protocol}", save(value, pickle_protocol=protocol))
    entries = [("notes.txt", bytes(2000)), ("version", b"3\n")]
    data = archive(pickled(("a", tensor())), {"0": bytes(12)}, after=entries, descriptors=False)
    add("a long entry that nobody needs", data)
    # A list as a shape, as PyTorch reads it, which grows when the tensor is made.
    grows = tensor(shape=b"](K\3eq\7")
    data = pickled(("a", grows), ("b", b"h\7" + number(-1) + b"a"))
    add("a list that was a shape", archive(data, {"0": bytes(12)}))

    # Calls, and names that mean something in JavaScript. torch.load would call them.
    for function in ("os.system", "builtins.getattr", "torch.load", "torch._utils.anything"):
        by_hand(function, call(function, text("exit 1")))
    for name in ("constructor", "__proto__", "toString", "hasOwnProperty"):
        by_hand(f"{name}.{name}", call(f"{name}.{name}"))
        by_hand(f"torch.{name}", call(f"torch.{name}"))
    return cases


def bomb(levels):
    """A dict that has 2**levels tensors, all the same."""
    value = torch.zeros(1)
    for _ in range(levels):
        value = {"a": value, "b": value}
    return value


def refused():
    """Files that must not load: name, bytes, code, and the message; of most, what it says after "got"."""
    zeros = {"0": bytes(12)}
    good = pickled(("a", tensor()))
    tiny = save({"a": torch.tensor([1.0, 2.0, 3.0])})
    command = text("exit 1")
    deep = "dicts or lists that contain themselves, or are nested too deep"
    inside = " with tensors inside: save model.state_dict() instead"
    protocol_0 = " of protocol 0, which torch.load does not read either: save with protocol 2"
    script = "bytes should have a state dict: save model.state_dict(), got TorchScript"
    cases = []

    def add(name, data, message, code="VALUE"):
        entry = {"name": name, "file": in_base64(data), "code": code, "message": message}
        cases.append(entry)

    def raw(name, opcodes, message, code="VALUE"):
        add(name, archive(opcodes, zeros), message, code)

    def compressed(name, data, part):
        expected = "bytes should be as torch.save writes it, without compression"
        add(name, data, f'{expected}, got "archive/{part}" compressed or encrypted', "UNSUPPORTED")

    # Objects with tensors inside, or nothing else.
    system = b"\x80\4" + b"\x8c\2os\x8c\6system\x93" + command + b"\x85R."
    raw("os.system by STACK_GLOBAL", system, "os.system without tensors")
    raw("os.system by INST", b"(" + command + b"ios\nsystem\n.", "the pickle opcode 0x69" + protocol_0)
    raw("os.system by OBJ", b"\x80\2(cos\nsystem\n" + command + b"o.", "the pickle opcode 0x6f")
    raw("os.system by NEWOBJ", b"\x80\2cos\nsystem\n" + command + b"\x85\x81.", "os.system without tensors")
    raw("a call of a list", b"\x80\2])R.", "a call of []")
    raw("an extension code", b"\x80\2\x82\1.", "the pickle opcode 0x82")
    raw("a persistent name", b"\x80\2Pos\n.", "the pickle opcode 0x50" + protocol_0)
    torch.manual_seed(71)
    linear = "torch.nn.modules.linear.Linear" + inside
    add("a whole model", save(nn.Linear(1, 1)), linear)
    add("a whole model in a dict", save({"model": nn.Linear(1, 1)}), linear)
    arrays = save({"wte.weight": numpy.ones((2, 2)), "epoch": 3})
    add("arrays of NumPy", arrays, "numpy.core.multiarray._reconstruct without tensors")
    parts = argparse.Namespace(deep=[{"weight": torch.ones(1)}])
    add("a tensor in an object", save({"a": torch.ones(1), "b": parts}), "argparse.Namespace" + inside)
    add("a tensor in a set", save({"a": torch.ones(1), "b": {torch.ones(1)}}), "__builtin__.set" + inside)
    add("pickle's protocol 0", save({"a": torch.ones(1)}, pickle_protocol=0), "the pickle opcode 0x64" + protocol_0)
    sparse = save({"a": torch.eye(2).to_sparse()})
    got = "torch._utils._rebuild_sparse_tensor(torch.serialization._get_layout, an array of 3)"
    add("a sparse tensor", sparse, got)
    quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    add("a quantized tensor", save({"a": quantized}), "torch.QInt8Storage, a storage of 2 values")
    got = "torch.ComplexFloatStorage, a storage of 2 values"
    add("complex numbers", save({"a": torch.ones(2, dtype=torch.complex64)}), got)

    # Shapes that change after they are checked.
    grows = (("by one", b"h\7" + number(-1) + b"a"), ("by two", b"h\7(" + number(-1) * 2 + b"e"))
    for kind, shape in (
        ("tuple", b"(K\3tq\7"),
        ("short tuple", b"K\3\x85q\7"),
        ("torch.Size", b"ctorch\nSize\n(K\3t\x85Rq\7"),
    ):
        for name, growth in grows:
            data = pickled(("a", tensor(shape=shape)), ("b", growth))
            raw(f"a {kind} that grows {name}", data, "elements of what is no list")
    empty = tensor(shape=b")q\7", stride=b")")
    raw("an empty tuple that grows", pickled(("a", empty), ("b", b"h\7K\1a")), "elements of what is no list")

    # Values that refer to themselves, or are too deep or too many.
    raw("a list in itself", b"\x80\2}X\1\0\0\0a]q\0h\0as.", deep)
    raw("a dict in itself", b"\x80\2}q\0X\1\0\0\0ah\0s.", deep)
    raw("deep lists", b"\x80\2" + b"]" * 9000 + b"a" * 8999 + b".", deep)
    raw("deep tuples", b"\x80\2)" + b"\x85" * 9000 + b".", deep)
    raw("deep dicts", b"\x80\2" + b"}X\1\0\0\0a" * 3000 + b"}" + b"s" * 3000 + b".", deep)
    raw("deep marks", b"\x80\2" + b"(" * 9000 + b"t" * 9000 + b".", deep)
    add("2^40 tensors by reference", save(bomb(40)), "too many values or tensors")
    twice = b"".join(b"](h\0h\0eq\0" for _ in range(90))
    raw("2^90 lists by reference", b"\x80\2]q\0" + twice + b".", "too many values or tensors")
    raw("a memo far away", b"\x80\2}r\xff\xff\xff\xff.", "a value at 4294967295 of the memo")
    got = "a pickle that takes value 5 of the memo, which is not there"
    raw("a memo that is not there", b"\x80\2h\5.", got)
    memos = b"".join(b"r" + struct.pack("<I", i << 20) for i in range(4096))
    raw("memos far apart", b"\x80\2}" + memos + b".", "a value at 5242880 of the memo")

    # Pickles that are too long.
    raw("a line of 1001 letters", b"\x80\2c" + b"x" * 1001 + b"\ny\n.", "a line of more than 1000 letters")
    long = bytearray(archive(good, zeros, descriptors=False))
    long[18:26] = struct.pack("<II", 2**26 + 1, 2**26 + 1)
    add("a pickle of 64 MB", bytes(long), '"archive/data.pkl" of more than 67108864 bytes')
    raw("4 million instructions", b"\x80\2" + b"N0" * 2**21, "a pickle of more than 4194304 instructions")
    long = pickled(("a", tensor(numel=2**30 + 1, shape=(1,))))
    message = "bytes should be a file of at most 4 GB, got a longer one"
    raw("a storage of more than 4 GB", long, message, "UNSUPPORTED")

    # Pickles that end early, or are not for this.
    raw("a pickle without its end", good[:-1], "a pickle that ends early")
    raw("half a pickle", good[: len(good) // 2], "a pickle that ends early")
    raw("an empty pickle", b"", "a pickle that ends early")
    raw("a string of 2^62 bytes", b"\x80\4\x8d" + struct.pack("<Q", 2**62) + b"a.", "the pickle opcode 0x8d")
    raw("a string of -1 bytes", b"\x80\2T\xff\xff\xff\xff.", "the pickle opcode 0x54")
    raw("a number of 2^31 - 1 bytes", b"\x80\2\x8b\xff\xff\xff\x7f.", "the pickle opcode 0x8b")
    raw("an unknown opcode", b"\x80\2\xff.", "the pickle opcode 0xff")
    raw("protocol 9", b"\x80\x09}.", "pickle protocol 9")
    raw("POP of nothing", b"\x80\2" + b"0.", "a pickle that takes what is not there")
    raw("a tuple without a mark", b"\x80\2t.", "a pickle that takes what is not there")
    raw("SETITEM of a list", b"\x80\2]" + number(1) + number(2) + b"s.", "items of what is no dict")
    raw("BUILD of a list", b"\x80\2]}b.", "attributes of []")
    raw("APPEND to a dict", b"\x80\2}" + number(1) + b"a.", "elements of what is no list")
    raw("a tensor as a name", b"\x80\2}" + tensor() + number(1) + b"s.", "a dict with a tensor as a key")
    raw("bytes", b"\x80\3C\3abc.", "bytes of length 3 without tensors")
    raw("a number", b"\x80\2K\1.", "1 without tensors")
    twice = pickled(("a.b", tensor()), ("a", pickled(("b", tensor()))[2:-1]))
    raw("one name twice", twice, 'two tensors with the name "a.b"')

    # Tensors that are not in their storage.
    end = '"archive/data/0" that does not end after '
    kind = "torch.FloatStorage, a storage of "
    view = "torch._utils._rebuild_tensor_v2(a storage of 3 values, "
    for name, facts, message in (
        ("a storage larger than its entry", {"numel": 15, "shape": (15,)}, end + "60 bytes"),
        ("a storage smaller than its entry", {"numel": 2, "shape": (2,)}, end + "8 bytes"),
        ("a storage of -1 values", {"numel": -1}, kind + "-1 values"),
        ("a storage of 2^60 values", {"numel": 2**60, "shape": (2**60,)}, kind + "1152921504606847000 values"),
        ("an offset beyond", {"offset": 1}, view + "1, [3], [1])"),
        ("an offset before", {"offset": -1}, view + "-1, [3], [1])"),
        ("a shape beyond", {"shape": (2, 2), "stride": (2, 1)}, view + "0, [2, 2], [2, 1])"),
        ("a stride beyond", {"stride": (2,)}, view + "0, [3], [2])"),
        ("a negative stride", {"offset": 2, "stride": (-1,)}, view + "2, [3], [-1])"),
        ("a negative size", {"shape": (-1, -3), "stride": (1, 1)}, view + "0, [-1, -3], [1, 1])"),
        ("fewer strides than sizes", {"shape": (3, 1)}, view + "0, [3, 1], [1])"),
        ("65 axes", {"shape": (1,) * 65, "stride": (1,) * 65}, view + "0, an array of 65, an array of 65)"),
        ("a storage that is not there", {"key": "7"}, 'no storage "7"'),
        ("a storage above the folder", {"key": "../../version"}, 'no storage "../../version"'),
    ):
        raw(name, pickled(("a", tensor(**facts))), message)
    # Zeros: a stride of 0 makes many values of one.
    many = pickled(("a", tensor(shape=(2**36,), stride=(0,))))
    message = "needs 274877906944 bytes for shape [68719476736], and a tensor may have 2147483520"
    raw("2^36 values of one", many, message, "MEMORY")
    many = pickled(("a", tensor(shape=(2**40, 2**40), stride=(0, 0))))
    shape = "shape [1099511627776, 1099511627776], and a tensor may have 2147483520"
    raw("2^80 values of one", many, f"needs 4.835703278458517e+24 bytes for {shape}", "MEMORY")
    both = (("a", tensor(numel=3)), ("b", tensor(numel=2, shape=(2,))))
    raw("one storage of two sizes", pickled(*both), 'two descriptions of storage "0"')
    both = (("a", tensor(numel=3)), ("b", tensor(kind="IntStorage")))
    raw("one storage of two types", pickled(*both), 'two descriptions of storage "0"')
    float8 = pickled(("a", tensor(kind="Float8Storage")))
    raw("a storage of an unknown type", float8, "torch.Float8Storage, a storage of 3 values")
    storage = b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("module") + b"tQ" + number(0)
    storage += tuple_of((3,)) + tuple_of((1,)) + b"\x89}tR"
    other = pickled(("a", tensor()), ("b", storage))
    message = 'a persistent id ("module"), not ("storage", type, key, device, length)'
    raw("a persistent id of another kind", other, message)

    # Archives.
    deflated = io.BytesIO()
    with zipfile.ZipFile(deflated, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries_of(tiny).items():
            file.writestr(zipfile.ZipInfo(f"archive/{name}"), data, zipfile.ZIP_DEFLATED)
    compressed("a compressed zip", deflated.getvalue(), "data.pkl")
    partly = io.BytesIO()
    with zipfile.ZipFile(partly, "w") as file:
        for name, data in entries_of(tiny).items():
            kind = zipfile.ZIP_DEFLATED if name == "data/0" else zipfile.ZIP_STORED
            file.writestr(zipfile.ZipInfo(f"archive/{name}"), data, kind)
    compressed("a compressed storage", partly.getvalue(), "data/0")
    old = save({"a": torch.ones(3)}, _use_new_zipfile_serialization=False)
    old = re.sub(rb"(?s)X.\0\0\0\d{6,}", text("94051234567890"), old)  # the key of the storage is its address
    got = "a pickle, as torch.save wrote it before PyTorch 1.6: load it there, and save it again"
    add("the format before PyTorch 1.6", old, got)
    for name, module in (("its pickle first", nn.ReLU()), ("its storages first", nn.PReLU(2))):
        saved = io.BytesIO()
        torch.manual_seed(70)
        torch.jit.save(torch.jit.script(module), saved)
        add(f"TorchScript, {name}", saved.getvalue(), script, "UNSUPPORTED")
    message = 'bytes should have little-endian numbers, got "big"'
    big = archive(good, zeros, before=[("byteorder", b"big")])
    add("big-endian values", big, message, "UNSUPPORTED")
    big = archive(good, zeros, after=[("byteorder", b"big")])
    add("big-endian values, as the end says", big, message, "UNSUPPORTED")
    twice = archive(good, zeros, before=[("data/0", bytes(12))])
    add("a storage twice", twice, 'two entries "archive/data/0"')
    add("a pickle twice", archive(good, zeros, after=[("data.pkl", good)]), 'two entries "archive/data.pkl"')
    whole = archive(good, zeros)
    add("without the directory", whole[: whole.index(b"PK\1\2")], "402 bytes, which are not all of it")
    add("without the directory's end", whole[: whole.index(b"PK\6\6")], "585 bytes, which are not all of it")
    other = whole.replace(b"PK\6\6", b"PK\7\7")
    add("other bytes for the directory's end", other, "a ZIP archive without its directory")
    bad = bytearray(whole)
    bad[bad.index(b"PK\7\x08", bad.index(b"archive/data/0")) + 8] ^= 1
    add("a descriptor of two lengths", bytes(bad), '"archive/data/0" that does not end after 12 bytes')
    got = '"archive/version" of more than 1000 bytes'
    add("a long entry of unknown length", archive(good, zeros, after=[("version", bytes(2000))]), got)
    boolean = pickled(("a", tensor(kind="BoolStorage")))
    for value in (2, 255):
        bad = archive(boolean, {"0": bytes([0, 1, value])})
        add(f"a boolean of {value}", bad, f'"a" should hold booleans, which are 0 or 1, got {value}')
    for name, data in (
        ("a GGUF file", b"GGUF\3\0\0\0" + bytes(24)),
        ("an HDF5 file", b"\x89HDF\r\n\x1a\n" + bytes(24)),
        ("a .npy file of NumPy", b"\x93NUMPY\1\0v\0{'descr': '<f8', "),
        ("an ONNX model", b"\x08\x07\x12\x07pytorch\x1a\x061.13.0"),
        ("a safetensors file: loadSafetensors reads it", file_of({"a": torch.ones(1)})),
        ("one that gzip has compressed", b"\x1f\x8b" + bytes(30)),
    ):
        add(name, data, name)
    text_file = io.BytesIO()
    with zipfile.ZipFile(text_file, "w") as file:
        file.writestr(zipfile.ZipInfo("readme.txt"), "nothing")
    got = 'a ZIP archive that begins with "readme.txt" instead of data.pkl'
    add("another zip", text_file.getvalue(), got)
    add("an empty zip", b"PK\5\6" + bytes(18), "a ZIP archive with bytes between its entries")
    add("an archive without a pickle", archive(None, zeros), script, "UNSUPPORTED")
    encrypted = bytearray(archive(good, zeros, descriptors=False))
    encrypted[6] |= 1
    compressed("an encrypted zip", bytes(encrypted), "data.pkl")
    for name, end in (
        ("cut in its pickle", 90),
        ("cut in the first header", 20),
        ("cut in a storage", tiny.index(b"\0\0\x80?") + 6),
        ("cut behind its storage", tiny.index(b"\0\0\x80?") + 12),
    ):
        add(name, tiny[:end], f"{end} bytes, which are not all of it")
    return cases


def cases():
    saved = save(state_dict(draw(1)))
    assert archive(entries_of(saved)["data.pkl"], storages_of(saved)) == saved  # PyTorch's own bytes
    files = Files()
    for write in (gpt2_files, nanogpt_files, named_files, book_files, dtype_files, view_files, layout_files):
        write(files)
    tensors = tensor_cases(files)
    return {
        "ids": IDS,
        "models": files.models,
        "tensors": tensors,
        "harmless": harmless(),
        "refused": refused(),
    }
