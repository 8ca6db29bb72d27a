"""Writes feedforward.json: FeedForward and its gradients.

The notebook's class (nn.Linear, GELU, nn.Linear) computes in float64; autograd gives the gradients.

A case draws, after manual_seed(seed): the layer, x, dy. At GPT-2's size the matrices' gradients are given by
row 7.
"""

import torch
from torch import nn

from common import GELU, FeedForward, gradients, pack


def cases():
    found = {"odd": []}
    for rows, dim, hidden in ((1, 1, 4), (3, 17, 3), (17, 3, 65), (33, 33, 17), (65, 17, 9), (7, 33, 1)):
        for name, gelu in (("tanh", GELU()), ("none", nn.GELU())):
            torch.manual_seed(rows)
            layer, x, dy = FeedForward(dim, hidden, gelu), torch.randn(rows, dim), torch.randn(rows, dim)
            found["odd"].append(
                {
                    "seed": rows,
                    "embDim": dim,
                    "hiddenDim": hidden,
                    "approximate": name,
                    "x": [rows, dim],
                    **gradients(layer, x, dy=dy),
                }
            )
    torch.manual_seed(7)
    layer, x, dy = FeedForward(768), torch.randn(7, 768), torch.randn(7, 768)
    wide = x.double().requires_grad_()
    (layer.double()(wide) * dy.double()).sum().backward()
    grads = {name: p.grad if p.grad.dim() == 1 else p.grad[7] for name, p in layer.named_parameters()}
    found["gpt2"] = {
        "seed": 7,
        "x": [7, 768],
        "dx": pack(wide.grad),
        "grads": {name: pack(grad) for name, grad in grads.items()},
    }
    return found
