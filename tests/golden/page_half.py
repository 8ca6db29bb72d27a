"""Writes page_half.json: layer normalization in float16, each operation rounded, for the page's section on
half precision.

After manual_seed(seed): x = randn(rows, size) * factor, gamma = randn(size), beta = randn(size), as float16.
PyTorch adds, subtracts, multiplies and divides float16 tensors; it has no sqrt of them on a CPU, and that of
float32, rounded to float16, is the same number.
"""

import torch

from common import pack

ROWS = 12


def mean(x):
    total = torch.zeros(len(x), dtype=torch.float16)
    for column in x.T:
        total = total + column
    return (total / x.shape[1])[:, None]


def case(seed, size, factor):
    torch.manual_seed(seed)
    x = (torch.randn(ROWS, size) * factor).half()
    gamma, beta = torch.randn(size).half(), torch.randn(size).half()
    centered = x - mean(x)
    variance = mean(centered * centered)
    eps = torch.tensor(1e-5, dtype=torch.float16)
    deviation = (variance + eps).float().sqrt().half()
    y = centered / deviation * gamma + beta
    return {
        "seed": seed,
        "shape": [ROWS, size],
        "factor": factor,
        "variance": pack(variance.float()),
        "y": pack(y.float()),
    }


def cases():
    """Variances that are tiny, usual, infinite in some rows, and infinite in all."""
    return [case(1, 8, 0.001), case(2, 8, 1), case(3, 8, 90), case(4, 80, 28), case(5, 80, 400)]
