"""Writes llama.json: the block of web/examples/llama.mjs, its output and all gradients in float64.

All is drawn after manual_seed(123), in this order: the linear layers, x, dy, and the weights of the two norms.
"""

import torch
from torch import nn
from torch.nn import functional

from common import pack

CONFIG = {"emb_dim": 24, "n_heads": 6, "n_kv_heads": 2, "hidden_dim": 40}


class RMSNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(emb_dim))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def rotate(x, base=10000.0):
    """Rotary positions, as Hugging Face's Llama computes them: x is [..., tokens, d]."""
    tokens, d = x.shape[-2:]
    frequencies = base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angles = torch.outer(torch.arange(tokens, dtype=x.dtype), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    return x * angles.cos() + rotate_half(x) * angles.sin()


class Attention(nn.Module):
    def __init__(self, emb_dim, n_heads, n_kv_heads, **_):
        super().__init__()
        self.head_dim = emb_dim // n_heads
        self.groups = n_heads // n_kv_heads
        self.q_proj = nn.Linear(emb_dim, emb_dim, bias=False)
        self.k_proj = nn.Linear(emb_dim, n_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(emb_dim, n_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(emb_dim, emb_dim, bias=False)

    def forward(self, x):
        batch, tokens, emb_dim = x.shape

        def heads(y):
            return y.view(batch, tokens, -1, self.head_dim).transpose(1, 2)

        q = rotate(heads(self.q_proj(x)))
        k = rotate(heads(self.k_proj(x))).repeat_interleave(self.groups, dim=1)
        v = heads(self.v_proj(x)).repeat_interleave(self.groups, dim=1)
        mask = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(2, 3) / self.head_dim**0.5).masked_fill(mask, -torch.inf)
        context = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2)
        return self.o_proj(context.reshape(batch, tokens, emb_dim))


class SwiGLU(nn.Module):
    def __init__(self, emb_dim, hidden_dim, **_):
        super().__init__()
        self.gate_proj = nn.Linear(emb_dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(emb_dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, emb_dim, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaBlock(nn.Module):
    def __init__(self, **config):
        super().__init__()
        self.self_attn = Attention(**config)
        self.mlp = SwiGLU(**config)
        self.input_layernorm = RMSNorm(config["emb_dim"])
        self.post_attention_layernorm = RMSNorm(config["emb_dim"])

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


def cases():
    torch.manual_seed(123)
    block = LlamaBlock(**CONFIG)
    x, dy = torch.randn(2, 7, 24), torch.randn(2, 7, 24)
    norms = [block.input_layernorm, block.post_attention_layernorm]
    for norm in norms:
        norm.weight.data = torch.randn(24)
    weights = [pack(norm.weight) for norm in norms]
    x = x.double().requires_grad_()
    out = block.double()(x)
    out.backward(dy.double())
    grads = {name: pack(parameter.grad) for name, parameter in block.named_parameters()}
    return {"names": list(grads), "out": pack(out), "dx": pack(x.grad), "grads": grads, "weights": weights}
