"""Writes page_feed_forward.json for the page's section on FeedForward.

The network and six tokens are drawn after manual_seed(123); layer norm leaves each token a mean of 0 and a
variance of 1. nn.Linear and the notebook's GELU compute in float64. Each stage has the mean, the variance and
the first values of the first token's row.
"""

import torch
from torch.nn.functional import layer_norm

from common import FeedForward


def cases():
    torch.manual_seed(123)
    layer = FeedForward(768)
    x = layer_norm(torch.randn(6, 768).double(), (768,))
    layer.double()
    linear = layer.layers[0](x)
    gelu = layer.layers[1](linear)
    stages = [
        {
            "name": name,
            "mean": stage[0].mean().item(),
            "variance": stage[0].var(unbiased=False).item(),
            "first": stage[0, :8].tolist(),
        }
        for name, stage in (("x", x), ("Linear", linear), ("GELU", gelu), ("y", layer(x)))
    ]
    return {"seed": 123, "stages": stages, "sizes": [p.numel() for p in layer.parameters()]}
