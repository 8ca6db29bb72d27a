"""Writes page_layernorm.json for the page's section on how the norm is computed: rows of six float32 numbers, and
what nn.LayerNorm gives for them, which computes in float32 itself.
"""

import torch
from common import pack
from torch import nn

EPS = [1e-5, 0.01, 1e-7, 0.0]
ROW = [0.22597, 0.34698, 0.0, 0.22158, 0.0, 0.0]


def rows():
    for offset in (0, 20, 100, 1e4, 1e6, 1e10):
        yield [value + offset for value in ROW]
    for large in (30, 100, 1e15, 1e18, 1e19, 1e20, 1e25, 1e30, 3e38):
        yield [large, *ROW[1:]]
    yield [3e38, -3e38, 3e38, -3e38, 0, 1]
    yield [1e-30, 0, 2e-30, 0, 0, 0]
    yield [0.5] * 6
    torch.manual_seed(47)
    for power in range(-6, 8):
        yield (torch.randn(6) * 10.0**power).tolist()


def cases():
    found = []
    for row in rows():
        x = torch.tensor(row)
        for eps in EPS:
            y = nn.functional.layer_norm(x, (6,), eps=eps)
            found.append({"row": pack(x), "eps": eps, "y": pack(y)})
    return found
