"""Shared by the generators: how values are written, GPT-2's linear layers."""

import base64
import pathlib
import re

import torch
from torch import nn


def pack(tensor, dtype=torch.float32):
    """A tensor as its shape and its values in base64, little-endian.

    float32 rounds by 6e-8 at most. float64 is for a test whose tolerance is near that.
    """
    kind = {torch.float32: "f32", torch.float64: "f64"}[dtype]
    data = tensor.detach().to(dtype).contiguous().numpy().tobytes()
    return {"shape": list(tensor.shape), kind: base64.b64encode(data).decode()}


def same_names():
    """The operations on elements that TORCH.md has under PyTorch's name: `torch.exp` is `gpt.exp(x)`."""
    table = pathlib.Path(__file__).parents[2] / "web/lib/TORCH.md"
    rows = table.read_text("utf-8").splitlines()
    return [name for row in rows for name in re.findall(r"`gpt\.(\w+)\(x\)`", row) if f"`torch.{name}`" in row]


def in_float64(module, x):
    """module(x) in float64, from float32 parameters and x. Afterwards the module is float32 again."""
    result = module.double()(x.double()).detach()
    module.float()
    return result


class Conv1D(nn.Module):
    """GPT-2's linear layer, as in transformers."""

    def __init__(self, nf, nx, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(nx, nf))
        self.bias = nn.Parameter(torch.zeros(nf)) if bias else None
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


class FeedForward(nn.Module):
    """Linear, GELU, Linear. GELU has the tanh form by default."""

    def __init__(self, emb_dim, hidden_dim=None, approximate="tanh"):
        super().__init__()
        hidden_dim = hidden_dim or 4 * emb_dim
        gelu = nn.GELU(approximate=approximate)
        self.layers = nn.Sequential(nn.Linear(emb_dim, hidden_dim), gelu, nn.Linear(hidden_dim, emb_dim))

    def forward(self, x):
        return self.layers(x)
