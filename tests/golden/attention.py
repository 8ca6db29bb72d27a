"""Writes attention.json: GPT-2's attention and its gradients.

PyTorch computes in float64 with matmul, masked_fill and softmax; autograd gives the gradients.

A case draws, after manual_seed(seed): the layer, its biases, x, dy. Then the weights are multiplied by
`times`, a power of 2: with the initial N(0, 0.02) all tokens would have nearly the same weight.
    drawn  the initial weights, float32
    whole  cases with all values
    some   larger cases: the last rows of the output, the first rows of the gradients
"""

import math

import torch
from torch import nn

from common import Conv1D, pack


class Attention(nn.Module):
    def __init__(self, emb_dim, n_heads, qkv_bias=True):
        super().__init__()
        self.n_heads = n_heads
        self.c_attn = Conv1D(3 * emb_dim, emb_dim, bias=qkv_bias)
        self.c_proj = Conv1D(emb_dim, emb_dim)

    def forward(self, x):
        batch, tokens, dim = x.shape
        q, k, v = (
            t.view(batch, tokens, self.n_heads, -1).transpose(1, 2) for t in self.c_attn(x).split(dim, dim=2)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(dim // self.n_heads)
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        self.weights = scores.masked_fill(future, -math.inf).softmax(dim=-1)
        return self.c_proj((self.weights @ v).transpose(1, 2).reshape(batch, tokens, dim))


def case(seed, batch, tokens, heads, size, qkv_bias=True, with_weights=True, rows=None):
    """rows: how many rows to keep, the last of the output and the first of the gradients; None for all."""
    dim = heads * size
    torch.manual_seed(seed)
    layer = Attention(dim, heads, qkv_bias)
    for bias in (layer.c_attn.bias, layer.c_proj.bias):
        if bias is not None:
            bias.data = torch.randn(bias.shape)
    x, dy = torch.randn(batch, tokens, dim), torch.randn(batch, tokens, dim)
    times = 2.0 ** round(math.log2(50 / math.sqrt(dim)))
    layer.c_attn.weight.data *= times
    layer.c_proj.weight.data *= times
    wide = x.double().requires_grad_()
    out = layer.double()(wide)
    out.backward(dy.double())
    first = lambda t: pack(t if rows is None else t.reshape(-1, t.shape[-1])[:rows])
    found = {
        "seed": seed,
        "shape": [batch, tokens, dim],
        "heads": heads,
        "qkvBias": qkv_bias,
        "times": times,
        "out": pack(out if rows is None else out[-1, -rows:]),
        "dx": first(wide.grad),
        "grads": {name: first(parameter.grad) for name, parameter in layer.named_parameters()},
    }
    return found | {"weights": pack(layer.weights)} if with_weights else found


def cases():
    torch.manual_seed(123)
    layer = Attention(6, 2)
    drawn = {"cAttn": pack(layer.c_attn.weight), "cProj": pack(layer.c_proj.weight)}
    whole = [
        case(1, 1, 1, 1, 1),
        case(2, 2, 3, 3, 1),
        case(3, 1, 17, 1, 5),
        case(4, 2, 17, 3, 5, qkv_bias=False),
        case(5, 2, 33, 4, 1, with_weights=False),
        case(6, 1, 33, 1, 16),
        case(7, 1, 65, 3, 5, with_weights=False),
        case(8, 1, 65, 1, 3),
    ]
    some = [
        case(9, 2, 3, 3, 64, with_weights=False, rows=1),
        case(10, 1, 65, 4, 16, with_weights=False, rows=4),
        case(11, 1, 5, 12, 64, rows=1),
        case(12, 1, 33, 1, 64, with_weights=False, rows=2),
    ]
    return {"drawn": drawn, "whole": whole, "some": some}
