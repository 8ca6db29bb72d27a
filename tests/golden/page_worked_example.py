"""Writes page_worked_example.json for the page's section with the notebook's example: the outputs of its
layer, normalized by LayerNorm and by hand, as the notebook draws them and after changes.

`printed` is in float32, as PyTorch prints it; all other numbers are computed in float64.
"""

import torch
from common import in_float64, pack, show
from torch import nn


def example():
    torch.manual_seed(123)
    batch = torch.randn(2, 5)
    return batch, nn.Sequential(nn.Linear(5, 6), nn.ReLU())


def summed(out, norm, correction):
    """The 32 numbers that the page compares, and their names there."""
    return {
        "outputs": out,
        "mean": out.mean(dim=-1, keepdim=True),
        "variance": out.var(dim=-1, keepdim=True, correction=correction),
        "normalized": norm,
        "normalizedMean": norm.mean(dim=-1, keepdim=True),
        "normalizedVariance": norm.var(dim=-1, keepdim=True, correction=correction),
    }


def by_hand(out):
    return (out - out.mean(dim=-1, keepdim=True)) / out.var(dim=-1, keepdim=True).sqrt()


def both_ways(batch, layer):
    out = in_float64(layer, batch)
    return {
        "outputs": pack(out),
        "layerNorm": pack(nn.functional.layer_norm(out, (6,))),
        "byHand": pack(by_hand(out)),
    }


def cases():
    batch, layer = example()
    out = layer(batch).detach()
    ways = {
        "layerNorm": summed(out, nn.LayerNorm(6)(out).detach(), 0),
        "byHand": summed(out, by_hand(out), 1),
    }
    found = {
        "printed": {
            way: {name: show(value, sci_mode=False) for name, value in numbers.items()}
            for way, numbers in ways.items()
        },
        "linear": pack(in_float64(layer[0], batch)),
        "example": both_ways(batch, layer),
    }
    scale, shift = torch.ones(6), torch.zeros(6)
    scale[1], shift[1] = 2, 1
    found["scale 2 and shift 1 in column 2"] = pack(nn.functional.layer_norm(out, (6,), scale, shift))
    with torch.no_grad():
        layer[0].bias[2] = 30
        found["an outlier"] = both_ways(batch, layer)
    batch, layer = example()
    with torch.no_grad():
        layer[0].bias += 10000
    found["a large offset"] = both_ways(batch, layer)
    batch, layer = example()
    batch[0, 4] = 2
    found["x15 = 2"] = both_ways(batch, layer)
    return found
