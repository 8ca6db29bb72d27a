"""Writes page_batch_norm.json for the page's section on three normalizations: one batch through layer
norm, RMSNorm and batch norm, the last in training and in evaluation mode.

functional.layer_norm, functional.batch_norm and nn.BatchNorm1d compute in float64; RMSNorm is written out.
"""

import torch
from torch import nn

from common import pack

EPS = 1e-5


def cases():
    torch.manual_seed(17)
    deviation, mean = torch.rand(5) * 0.9 + 0.3, torch.randn(5) * 0.8

    def batch():
        return torch.randn(6, 5) * deviation + mean

    x = batch()
    norm = nn.BatchNorm1d(5).double()
    for _ in range(100):
        norm(batch().double())
    norm.eval()
    found = []
    for samples in (1, 2, 4, 6):
        rows = x[:samples].double()
        trained = nn.functional.batch_norm(rows, None, None, training=True, eps=EPS) if samples > 1 else None
        found.append(
            {
                "samples": samples,
                "layer": pack(nn.functional.layer_norm(rows, [5], eps=EPS)),
                "rms": pack(rows / torch.sqrt(rows.pow(2).mean(-1, keepdim=True) + EPS)),
                "training": None if trained is None else pack(trained),
                "evaluation": pack(norm(rows)),
            }
        )
    return {
        "x": pack(x),
        "runningMean": pack(norm.running_mean),
        "runningVar": pack(norm.running_var),
        "batches": found,
    }
