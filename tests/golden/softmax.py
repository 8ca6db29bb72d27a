"""Writes softmax.json: softmax over each axis and its gradient.

nn.Softmax computes in float64; autograd gives the gradient.

A case draws, after manual_seed(seed): x, dy. x is multiplied by scale. `axes` are cases of other axes than the
last. `special` has rows with NaN,
infinities and large values.
"""

import torch
from torch import nn

from common import gradients, pack


def cases():
    found, axes, special = [], [], []
    for shape in ([], [1], [3], [17], [2, 33], [2, 3, 65], [2, 768]):
        for scale in (1.0, 4.0):  # for larger scales y rounds to 1 and float32 loses the gradient
            torch.manual_seed(sum(shape))
            x, dy = torch.randn(shape) * scale, torch.randn(shape)
            found.append(
                {
                    "seed": sum(shape),
                    "shape": shape,
                    "scale": scale,
                    **gradients(nn.Softmax(dim=-1), x, dy=dy),
                }
            )
    for shape, dims in (([], [0]), ([17, 3], [0, -2]), ([2, 33, 3], [0, 1, -2]), ([2, 3, 4, 5], [1, -2, 3])):
        for dim in dims:
            torch.manual_seed(sum(shape))
            x, dy = torch.randn(shape), torch.randn(shape)
            case = {"seed": sum(shape), "shape": shape, "dim": dim}
            axes.append({**case, **gradients(nn.Softmax(dim=dim), x, dy=dy)})
    inf = float("inf")
    for row in (
        [0.0, -inf, 1.0],
        [-inf, -inf, -inf],
        [inf, 0.0, 1.0],
        [inf, inf, 0.0],
        [float("nan"), 0.0, 1.0],
        [3e38, -3e38, 0.0],
        [1e4, 1e4 - 1, 0.0],
    ):
        x = torch.tensor([row])
        special.append({"x": pack(x), "out": pack(x.double().softmax(-1))})
    return {"cases": found, "axes": axes, "special": special}
