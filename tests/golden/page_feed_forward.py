"""Writes page_feed_forward.json for the page's section on FeedForward.

The network and its input, 2 texts of 3 tokens, are drawn as in the notebook: after manual_seed(123), the
batch and the first layer. nn.Linear and the notebook's GELU compute in float64. Each stage has the mean, the
variance and the first values of the first token's row; `ways` are the stages without a layer norm before
them, and with one.
"""

import torch
from torch import nn
from torch.nn.functional import layer_norm

from common import FeedForward


def cases():
    torch.manual_seed(123)
    torch.randn(2, 5)
    nn.Linear(5, 6)
    layer = FeedForward(768)
    x = torch.rand(2, 3, 768).double()
    layer.double()

    def stages(x):
        linear = layer.layers[0](x)
        gelu = layer.layers[1](linear)
        return [
            {
                "name": name,
                "mean": stage[0, 0].mean().item(),
                "variance": stage[0, 0].var(unbiased=False).item(),
                "first": stage[0, 0, :8].tolist(),
            }
            for name, stage in (("x", x), ("Linear", linear), ("GELU", gelu), ("y", layer(x)))
        ]

    ways = [stages(x), stages(layer_norm(x, (768,)))]
    return {"ways": ways, "parameters": sum(p.numel() for p in layer.parameters())}
