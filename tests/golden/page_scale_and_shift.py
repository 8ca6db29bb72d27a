"""Writes page_scale_and_shift.json for the page's section on scale and shift: the outputs of the notebook's
layer, and what LayerNorm gives for them with some scales and shifts, in float64.
"""

import torch
from common import in_float64, pack
from torch import nn


def cases():
    torch.manual_seed(123)
    batch = torch.randn(2, 5)
    out = in_float64(nn.Sequential(nn.Linear(5, 6), nn.ReLU()), batch)

    def norm(scale, shift):
        return pack(nn.functional.layer_norm(out, (6,), scale, shift))

    ones, zeros = torch.ones(6).double(), torch.zeros(6).double()
    one_off = ones.clone()
    one_off[1] = 0
    mean = out[0].mean()
    deviation = (out[0].var(dim=-1, correction=0) + 1e-5).sqrt()
    return {
        "outputs": pack(out),
        "initial": norm(ones, zeros),
        "scale 2, shift 1": norm(2 * ones, zeros + 1),
        "feature 2 off": norm(one_off, zeros),
        "undone": {
            "scale": deviation.item(),
            "shift": mean.item(),
            "out": norm(ones * deviation, zeros + mean),
        },
    }
