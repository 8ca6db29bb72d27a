"""Writes layernorm.json: LayerNorm and its gradients.

The notebook's class computes in float64; autograd gives the gradients.

A case draws, after manual_seed(seed): x, scale, shift, dy. The hard cases have mean 1e4 and deviation 0.1;
their x is stored, because making it rounds.
"""

import torch

from common import LayerNorm, gradients, pack


def with_parameters(n):
    norm = LayerNorm(n)
    norm.scale.data, norm.shift.data = torch.randn(n), torch.randn(n)
    return norm


def cases():
    found, hard = [], []
    for shape in ([2, 3, 1], [2, 3, 3], [70, 17], [5, 33], [4, 65], [2, 768]):
        torch.manual_seed(sum(shape))
        x = torch.randn(shape)
        norm = with_parameters(shape[-1])
        found.append({"seed": sum(shape), "shape": shape, **gradients(norm, x, dy=torch.randn(shape))})
    for mean in (1e4, -1e4):
        for n in (17, 768):
            torch.manual_seed(n)
            x = torch.randn(2, n) * 0.1 + mean
            torch.manual_seed(n)
            norm = with_parameters(n)
            hard.append(
                {
                    "name": f"mean {mean:g}, deviation 0.1, {n} wide",
                    "seed": n,
                    "x": pack(x),
                    **gradients(norm, x, dy=torch.randn(2, n)),
                }
            )
    return {"cases": found, "hard": hard}
