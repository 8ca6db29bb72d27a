"""The page's fifth section: cell 16's network and batch, from their own seed, on each stage of the way."""

import torch

from common import FeedForward


def cases():
    torch.manual_seed(123)
    layer = FeedForward(768)
    x = torch.rand(2, 3, 768).double()
    layer.double()
    linear = layer.layers[0](x)
    gelu = layer.layers[1](linear)
    stages = [{"name": name, "mean": stage.mean(-1).flatten().tolist(),
               "variance": stage.var(-1, unbiased=False).flatten().tolist(), "last": stage[1, 2, -8:].tolist()}
              for name, stage in (("x", x), ("Linear", linear), ("GELU", gelu), ("y", layer(x)))]
    return {"seed": 123, "stages": stages, "sizes": [p.numel() for p in layer.parameters()],
            "hidden": {"linear": linear[0, 0, 1234].item(), "gelu": gelu[0, 0, 1234].item()}}
