"""Writes page_divisor.json for the page's section on the divisor: biased and unbiased variance of the
notebook's layer with n outputs, and their averages over many samples.

Tensor.var computes in float64.
"""

import torch
from torch import nn


def cases():
    found = []
    for n, samples in ((2, 4000), (6, 4000), (768, 85), (4096, 16)):
        torch.manual_seed(123)
        batch = torch.randn(2, 5)
        row = torch.relu(nn.Linear(5, n)(batch))[0].double()
        torch.manual_seed(123)
        drawn = torch.randn(samples, n).double()
        found.append(
            {
                "n": n,
                "samples": samples,
                "unbiased": row.var().item(),
                "biased": row.var(unbiased=False).item(),
                "averages": {
                    "unbiased": drawn.var(-1).mean().item(),
                    "biased": drawn.var(-1, unbiased=False).mean().item(),
                },
            }
        )
    return found
