"""Writes relu.json: ReLU and its gradient.

nn.ReLU computes in float64; autograd gives the gradient. A case draws, after manual_seed(seed): x, dy.
"""

import torch
from torch import nn

from common import gradients


def cases():
    found = []
    for shape in ([1], [3], [17], [2, 33], [2, 3, 65]):
        torch.manual_seed(sum(shape))
        x, dy = torch.randn(shape), torch.randn(shape)
        found.append({"seed": sum(shape), "shape": shape, **gradients(nn.ReLU(), x, dy=dy)})
    return found
