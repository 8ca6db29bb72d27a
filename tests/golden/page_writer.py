"""Writes page_writer.json: the page's GPT that writes stories. A model whose layer norms are left out, only
subtract the mean, do not subtract it (RMSNorm, with the norm's shift), or have gamma 1 and beta 0: mean and
variance (biased) of the last token before and after each norm, or what replaces it.

PyTorch computes in float64. After manual_seed(seed) the model of layers.py is made and shaken.
"""

import torch
from torch import nn

from common import pack
from layers import GPTModel, LayerNorm, shake

DIM = 6


class OnlyMean(nn.Module):
    def forward(self, x):
        return x - x.mean(dim=-1, keepdim=True)


class NoMean(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.norm.eps)
        return self.norm.scale * x / rms + self.norm.shift


REPLACEMENTS = {
    "nothing": lambda _: nn.Identity(),
    "mean": lambda _: OnlyMean(),
    "rms": NoMean,
    "plain": lambda _: LayerNorm(DIM),
}


def model(seed, replacement, off):
    torch.manual_seed(seed)
    module = shake(GPTModel(17, 11, DIM, 2, 4, True, False))
    slots = [(block, name) for block in module.trf_blocks for name in ("norm1", "norm2")]
    slots.append((module, "final_norm"))
    for i in off:
        setattr(*slots[i], REPLACEMENTS[replacement](getattr(*slots[i])))
    stats = []

    def hook(_, given, output):
        for row in (given[0][0, -1], output[0, -1]):
            stats.extend([row.mean(), row.var(unbiased=False)])

    for parent, name in slots:
        getattr(parent, name).register_forward_hook(hook)
    ids = [1, 5, 16, 0, 3]
    module.double()(torch.tensor([ids]))
    return {
        "seed": seed,
        "replacement": replacement,
        "off": off,
        "ids": ids,
        "stats": pack(torch.stack(stats)),
    }


def cases():
    every = list(range(9))
    return [
        model(1, "nothing", [8]),
        model(2, "nothing", every),
        model(3, "mean", [1, 6]),
        model(4, "plain", every),
        model(5, "rms", every),
    ]
