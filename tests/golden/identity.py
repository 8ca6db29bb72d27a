"""Writes identity.json: a model of gptmodel.py in which nn.Identity stands in the place of some layer norms,
and its gradients.

PyTorch computes in float64; autograd gives the gradients. After manual_seed(seed) the model is made and
shaken (gptmodel.py), its norms are replaced, and the gradient of the logits is drawn.
"""

import torch
from torch import nn

from common import pack
from gptmodel import GPTModel, shake

CONFIG = {"vocab": 17, "context": 11, "dim": 6, "heads": 2, "layers": 2, "qkv_bias": True, "tied": False}


def model(seed, norms):
    torch.manual_seed(seed)
    module = shake(GPTModel(**CONFIG))
    for path in norms:
        parent, _, name = path.rpartition(".")
        setattr(module.get_submodule(parent), name, nn.Identity())
    ids = torch.tensor([[1, 5, 16, 0, 3]])
    dy = torch.randn(1, 5, CONFIG["vocab"])
    module.double()
    out = module(ids)
    out.backward(dy.double())
    return {
        "seed": seed,
        "norms": norms,
        "ids": ids.tolist(),
        "out": pack(out),
        "grads": {name: pack(p.grad) for name, p in module.named_parameters()},
    }


def cases():
    return [
        model(1, ["trf_blocks.0.norm1"]),
        model(2, ["trf_blocks.1.norm2", "final_norm"]),
        model(3, [f"trf_blocks.{b}.norm{n}" for b in range(2) for n in (1, 2)] + ["final_norm"]),
    ]
