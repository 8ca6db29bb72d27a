"""Writes linear.json: Linear and its gradients.

nn.Linear computes in float64; autograd gives the gradients.

A case draws, after manual_seed(seed): the layer, x, dy. At GPT-2's sizes `dweight` has the rows 7 and 1507 of
the weight's gradient, as far as they exist.
"""

import torch
from torch import nn

from common import gradients, pack


def cases():
    found = {"odd": [], "gpt2": []}
    for rows, i, o in (
        (1, 1, 1),
        (3, 17, 3),
        (17, 3, 65),
        (33, 65, 17),
        (65, 17, 33),
        (5, 65, 1),
        (7, 1, 65),
    ):
        torch.manual_seed(rows)
        layer, x, dy = nn.Linear(i, o), torch.randn(rows, i), torch.randn(rows, o)
        found["odd"].append(
            {
                "seed": rows,
                "inFeatures": i,
                "outFeatures": o,
                "x": [rows, i],
                "dy": [rows, o],
                **gradients(layer, x, dy=dy),
            }
        )
    for rows, i, o in ((7, 768, 3072), (1, 3072, 768)):
        torch.manual_seed(rows)
        layer, x, dy = nn.Linear(i, o), torch.randn(rows, i), torch.randn(rows, o)
        wide = x.double().requires_grad_()
        (layer.double()(wide) * dy.double()).sum().backward()
        found["gpt2"].append(
            {
                "seed": rows,
                "inFeatures": i,
                "outFeatures": o,
                "x": [rows, i],
                "dy": [rows, o],
                "dx": pack(wide.grad),
                "dweight": pack(layer.weight.grad[7::1500]),
                "dbias": pack(layer.bias.grad),
            }
        )
    return found
