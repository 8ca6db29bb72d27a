"""The page's second section: both variances of the notebook's layer n wide, and what they average over many samples."""

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
        found.append({"n": n, "samples": samples, "unbiased": row.var().item(), "biased": row.var(unbiased=False).item(),
                      "averages": {"unbiased": drawn.var(-1).mean().item(),
                                   "biased": drawn.var(-1, unbiased=False).mean().item()}})
    return found
