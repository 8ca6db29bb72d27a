"""Writes embedding.json: Embedding and the gradient of its weight.

nn.Embedding draws the weight and looks up its rows in float32; autograd gives the gradient in float64.

A case draws, after manual_seed(seed): the layer, dy. The indices come from a generator of their own.
"""

import torch
from torch import nn

from common import pack


def cases():
    found = []
    for count, dim, shape in (
        (1, 1, [3]),
        (3, 17, [2, 5]),
        (17, 3, [33]),
        (33, 65, [2, 1, 7]),
        (65, 33, [17]),
        (5, 768, [9]),
        (2, 3, []),
        (4, 5, [0]),
    ):
        seed = 100 * count + dim
        indices = torch.randint(count, shape, generator=torch.Generator().manual_seed(seed))
        torch.manual_seed(seed)
        layer = nn.Embedding(count, dim)
        dy = torch.randn(shape + [dim])
        out = layer(indices).detach()
        layer.double()(indices).backward(dy.double())
        found.append(
            {
                "seed": seed,
                "numEmbeddings": count,
                "embeddingDim": dim,
                "indices": indices.tolist(),
                "shape": shape,
                "out": pack(out),
                "weight": pack(layer.weight.grad),
            }
        )
    return found
