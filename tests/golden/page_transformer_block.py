"""Writes page_transformer_block.json for the page's section on the transformer block: mean and variance of
each token before and after every norm of the stories model, in the model's order (pre-norm) and in the
original transformer's (post-norm).

PyTorch computes in float64 from the values that the int8 weights stand for: scale times value.
"""

import json
import math
import pathlib
import re
import struct

import torch

from gptmodel import GPTModel

STORIES = pathlib.Path(__file__).parents[2] / "web" / "examples" / "stories"
SENTENCE = "Once upon a time, a quiet girl named Zuri lived in a crooked tower."


def parameters():
    """Every parameter of the stories model, by its name, in float64."""
    data = (STORIES / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__")
    stored = {}
    for name, tensor in header.items():
        start, end = (8 + size + offset for offset in tensor["data_offsets"])
        kind = {"F32": torch.float32, "I8": torch.int8}[tensor["dtype"]]
        values = torch.frombuffer(bytearray(data[start:end]), dtype=kind)
        stored[name] = values.reshape(tensor["shape"]).double()
    found = {}
    for name, value in stored.items():
        if name.endswith("_scale"):
            continue
        if name + "_scale" in stored:
            scale = stored[name + "_scale"]  # [outputs, groups]
            # Groups are of equal, even length; the last one may be shorter.
            group = 2 * math.ceil(value.shape[1] / scale.shape[1] / 2)
            value = value * scale.repeat_interleave(group, 1)[:, : value.shape[1]]
            if ".c_" in name:
                value = value.T  # Conv1D computes with [inputs, outputs]
        found[name] = value
    found["out_head.weight"] = found["tok_emb.weight"]
    return found


def passed(model, ids, order):
    norms = []

    def watch(_, inputs, output):
        norms.append(
            {
                side: {"mean": x[0].mean(-1).tolist(), "variance": x[0].var(-1, unbiased=False).tolist()}
                for side, x in (("before", inputs[0]), ("after", output))
            }
        )

    layers = [norm for block in model.trf_blocks for norm in (block.norm1, block.norm2)] + [model.final_norm]
    hooks = [layer.register_forward_hook(watch) for layer in layers]
    if order == "pre":
        model(ids)
    else:
        x = model.tok_emb(ids) + model.pos_emb(torch.arange(ids.shape[1]))
        for block in model.trf_blocks:
            x = block.norm1(x + block.attn(x))
            x = block.norm2(x + block.ff(x))
    for hook in hooks:
        hook.remove()
    return norms


def cases():
    words = json.loads((STORIES / "words.json").read_text())
    ids = [words.index(token) for token in re.findall(r" ?\w+|[^\w ]+", SENTENCE)]
    model = GPTModel(len(words), 192, 80, 4, 4, True, True).double()
    model.load_state_dict(parameters())
    model.eval()
    ids = torch.tensor([[0] + ids])
    return {"sentence": SENTENCE, **{order: passed(model, ids, order) for order in ("pre", "post")}}
