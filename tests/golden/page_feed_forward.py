"""Writes page_feed_forward.json for the page's section on FeedForward: the network and batch of the notebook's
cell 16.

nn.Linear and the notebook's GELU compute in float64. Each stage has the mean and variance of its rows and
some values. The layer and x are drawn after manual_seed(123).
"""

import torch

from common import FeedForward


def cases():
    torch.manual_seed(123)
    layer = FeedForward(768)
    x = torch.rand(2, 3, 768).double()
    layer.double()
    linear = layer.layers[0](x)
    gelu = layer.layers[1](linear)
    stages = [
        {
            "name": name,
            "mean": stage.mean(-1).flatten().tolist(),
            "variance": stage.var(-1, unbiased=False).flatten().tolist(),
            "last": stage[1, 2, -8:].tolist(),
        }
        for name, stage in (("x", x), ("Linear", linear), ("GELU", gelu), ("y", layer(x)))
    ]
    return {
        "seed": 123,
        "stages": stages,
        "sizes": [p.numel() for p in layer.parameters()],
        "hidden": {"linear": linear[0, 0, 1234].item(), "gelu": gelu[0, 0, 1234].item()},
    }
