"""Writes matrix.json: products, permutations and pieces of tensors.

PyTorch computes x @ y in float64, and permute and split in float32. Inputs are drawn after manual_seed(1).
"""

import itertools

import torch

from common import pack


def cases():
    products, orders, pieces = [], [], []
    for a, b in (
        ([1, 1], [1, 1]),
        ([2, 3], [3, 5]),
        ([7, 17], [17, 33]),
        ([2, 3, 5], [5, 4]),
        ([2, 3, 7, 5], [2, 3, 5, 6]),
        ([4, 0, 5], [4, 5, 2]),
        ([2, 3, 0], [2, 0, 4]),
        ([2, 1, 3, 4], [5, 4, 6]),
        ([3, 4], [2, 5, 4, 6]),
        ([2, 3, 4], [1, 4, 5]),
        ([1, 3, 4], [2, 4, 5]),
        ([0, 1, 3, 4], [2, 4, 5]),
        ([3], [3]),
        ([3], [3, 4]),
        ([3], [2, 5, 3, 4]),
        ([4, 3], [3]),
        ([2, 5, 4, 3], [3]),
        ([0], [0]),
    ):
        torch.manual_seed(1)
        x, y = torch.randn(a), torch.randn(b)
        products.append({"a": a, "b": b, "product": pack(x.double() @ y.double())})
    for shape in ([3], [2, 3], [2, 3, 4], [2, 3, 4, 5], [2, 0, 3]):
        for dims in itertools.permutations(range(len(shape))):
            torch.manual_seed(1)
            orders.append({"shape": shape, "dims": dims, "permuted": pack(torch.randn(shape).permute(dims))})
    for shape, size, dim in (([5], 2, 0), ([2, 6], 2, -1), ([6, 2], 4, 0), ([2, 6, 3], 3, 1), ([2, 3], 5, 1)):
        torch.manual_seed(1)
        pieces.append(
            {
                "shape": shape,
                "size": size,
                "dim": dim,
                "pieces": [pack(piece) for piece in torch.randn(shape).split(size, dim)],
            }
        )
    return {"products": products, "orders": orders, "pieces": pieces}
