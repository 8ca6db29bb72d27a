"""Writes layernorm.json: LayerNorm and its gradients.

The notebook's class computes in float64, over several axes nn.LayerNorm; autograd gives the gradients.

A case draws, after manual_seed(seed): x, scale, shift, dy. The hard cases have mean 1e4 and deviation 0.1,
or squares that overflow in float32.
"""

import torch
from torch import nn

from common import LayerNorm, gradients, pack


def with_parameters(n):
    norm = LayerNorm(n)
    norm.scale.data, norm.shift.data = torch.randn(n), torch.randn(n)
    return norm


def cases():
    found, hard, axes = [], [], []
    for shape in ([2, 3, 1], [2, 3, 3], [70, 17], [5, 33], [4, 65], [2, 768]):
        torch.manual_seed(sum(shape))
        x = torch.randn(shape)
        norm = with_parameters(shape[-1])
        found.append({"seed": sum(shape), "shape": shape, **gradients(norm, x, dy=torch.randn(shape))})
    for mean, deviation in ((1e4, 0.1), (-1e4, 0.1), (0.0, 1e20), (1e25, 1e20), (0.0, 5e37)):
        for n in (17, 768):
            torch.manual_seed(n)
            x = torch.randn(2, n) * deviation + mean
            norm = with_parameters(n)
            hard.append(
                {
                    "seed": n,
                    "shape": [2, n],
                    "mean": mean,
                    "deviation": deviation,
                    **gradients(norm, x, dy=torch.randn(2, n)),
                }
            )
    for shape, normalized in (([5], [5]), ([4, 3, 5], [3, 5]), ([2, 3, 4, 5], [3, 4, 5]), ([3, 5], [3, 5])):
        torch.manual_seed(sum(shape))
        x = torch.randn(shape)
        norm = nn.LayerNorm(normalized)
        norm.weight.data, norm.bias.data = torch.randn(normalized), torch.randn(normalized)
        axes.append(
            {
                "seed": sum(shape),
                "shape": shape,
                "normalizedShape": normalized,
                **gradients(norm, x, dy=torch.randn(shape)),
            }
        )
    return {"cases": found, "hard": hard, "axes": axes}
