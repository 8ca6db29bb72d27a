"""Writes rmsnorm.json: RMSNorm (Zhang, Sennrich 2019, eq. 4) and its gradients.

PyTorch 1.13 has no RMSNorm, so the equation is written out in float64; autograd gives the gradients. A case
draws, after manual_seed(seed): scale, x, dy. x is multiplied by the deviation.
"""

import torch
from torch import nn

from common import gradients


class RMSNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))

    def forward(self, x):
        return self.scale * (x / torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps))


def cases():
    found = []
    for n in (1, 3, 17, 33, 65, 768):
        # For n = 1 and x² far above eps, y = ±scale and dx is only rounding error: compare small x only.
        for deviation in (1e-3,) if n == 1 else (1.0, 1e-3, 1e4, 1e20, 5e37):
            torch.manual_seed(n)
            norm = RMSNorm(n)
            norm.scale.data = torch.randn(n)
            shape = [2, 2, n] if n < 768 else [2, n]
            x, dy = torch.randn(shape) * deviation, torch.randn(shape)
            found.append(
                {"seed": n, "embDim": n, "shape": shape, "deviation": deviation, **gradients(norm, x, dy=dy)}
            )
    return found
