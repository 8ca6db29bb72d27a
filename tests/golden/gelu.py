"""Writes gelu.json: both forms of GELU and their gradients.

nn.GELU(approximate='tanh') and nn.GELU() compute in float64; autograd gives the gradients.

A case draws, after manual_seed(seed): x, dy. x is multiplied by 3, which reaches gradients of 0 and 1.
`special` holds the gradients at NaN, infinities, zeros, denormals and large values.
"""

import torch
from torch import nn

from common import gradients

SPECIALS = [float("nan"), float("inf"), -float("inf"), -3e38, 3e38, -0.0, 0.0, 1e-40, -1e-40, 1.0, -1.0]


def cases():
    found = []
    for approximate in ("tanh", "none"):
        gelu = nn.GELU(approximate=approximate)
        for shape in ([1], [3], [17], [2, 33], [2, 3, 65]):
            torch.manual_seed(sum(shape))
            x, dy = 3 * torch.randn(shape), torch.randn(shape)
            found.append(
                {"seed": sum(shape), "shape": shape, "approximate": approximate, **gradients(gelu, x, dy=dy)}
            )
    x = torch.tensor(SPECIALS)
    special = {
        name: gradients(nn.GELU(approximate=name), x, dy=torch.ones_like(x))["dx"]
        for name in ("tanh", "none")
    }
    return {"cases": found, "special": special}
