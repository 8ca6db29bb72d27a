"""Writes page_writing.json: the page's section in which a GPT writes. A model whose layer norms only subtract
the mean, or have gamma 1 and beta 0, or are left out: mean and variance (biased) of the last token before
and after each norm, or what replaces it.

PyTorch computes in float64. After manual_seed(seed) the model of gptmodel.py is made and shaken.
"""

import torch
from torch import nn

from common import LayerNorm, pack
from gptmodel import GPTModel, shake

DIM = 6


class OnlyMean(nn.Module):
    def forward(self, x):
        return x - x.mean(dim=-1, keepdim=True)


REPLACEMENTS = {
    "nothing": nn.Identity,
    "mean": OnlyMean,
    "plain": lambda: LayerNorm(DIM),
}


def model(seed, instead, off):
    torch.manual_seed(seed)
    module = shake(GPTModel(17, 11, DIM, 2, 4, True, False))
    slots = [(block, name) for block in module.trf_blocks for name in ("norm1", "norm2")]
    slots.append((module, "final_norm"))
    for i in off:
        setattr(*slots[i], REPLACEMENTS[instead]())
    moments = []

    def hook(_, given, output):
        for row in (given[0][0, -1], output[0, -1]):
            moments.extend([row.mean(), row.var(unbiased=False)])

    for parent, name in slots:
        getattr(parent, name).register_forward_hook(hook)
    ids = [1, 5, 16, 0, 3]
    module.double()(torch.tensor([ids]))
    return {"seed": seed, "instead": instead, "off": off, "ids": ids, "moments": pack(torch.stack(moments))}


def cases():
    every = list(range(9))
    return [
        model(1, "nothing", [8]),
        model(2, "nothing", every),
        model(3, "mean", [1, 6]),
        model(4, "plain", every),
    ]
